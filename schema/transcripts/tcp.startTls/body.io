// only streams of tcp.open can begin TLS
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":4}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":4,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"tcp.startTls","params":{"stream":"<s>","serverName":"mail.example","alpn":["smtp"]}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/stream","state":"read"}}}
