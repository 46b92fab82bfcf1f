// the body of a response has a single direction
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":4}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":4,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"tcp.closeRead","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/stream","state":"read"}}}
