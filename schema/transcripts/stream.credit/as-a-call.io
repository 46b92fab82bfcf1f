>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":3,"mode":"push"}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":3,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.credit","params":{"stream":"<s>","bytes":2}}
<< {"jsonrpc":"2.0","id":2,"result":{"credit":"<any>"}}
<< {"jsonrpc":"2.0","method":"event.data","params":{"stream":"<s>","seq":0,"offset":0,"base64":"YWI="}}
