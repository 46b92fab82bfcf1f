>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":3}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":3,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.credit","params":{"stream":"<s>","bytes":2}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/stream","...":"<any>"}}}
