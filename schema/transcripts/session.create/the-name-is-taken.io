>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api"}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"session.create","params":{"name":"api"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/name","state":"taken"}}}
