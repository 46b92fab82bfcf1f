>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":1000000,"mode":"push"}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":1000000,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/stream"}}}
