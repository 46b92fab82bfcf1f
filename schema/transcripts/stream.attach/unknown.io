// a stream that is not there: on a socket, nothing behind the error is read, and the connection closes
>> {"jsonrpc":"2.0","id":1,"method":"stream.attach","params":{"stream":"str_0000000000000000","direction":"read"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/stream"}}}
