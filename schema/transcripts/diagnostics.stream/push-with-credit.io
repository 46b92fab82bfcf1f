// five bytes, three of them at once, the others when there is credit
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":5,"mode":"push","credit":3}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":5,"chunkBytes":32768}}
<< {"jsonrpc":"2.0","method":"event.data","params":{"stream":"<s>","seq":0,"offset":0,"base64":"YWJj"}}
>> {"jsonrpc":"2.0","method":"stream.credit","params":{"stream":"<s>","bytes":100}}
<< {"jsonrpc":"2.0","method":"event.data","params":{"stream":"<s>","seq":1,"offset":3,"base64":"ZGU="}}
<< {"jsonrpc":"2.0","method":"event.end","params":{"stream":"<s>","seq":2,"size":5}}
