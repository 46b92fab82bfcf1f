>> {"jsonrpc":"2.0","id":1,"method":"shutdown"}
<< {"jsonrpc":"2.0","id":1,"result":{}}
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.echo"}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"<any>","...":"<any>"}}
