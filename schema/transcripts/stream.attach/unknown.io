// a stream that is not there: the connection goes on with messages
>> {"jsonrpc":"2.0","id":1,"method":"stream.attach","params":{"stream":"str_0000000000000000","direction":"read"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/stream"}}}
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.echo","params":{"a":1}}
<< {"jsonrpc":"2.0","id":2,"result":{"a":1}}
