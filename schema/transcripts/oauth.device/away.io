>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-device","grant":"device","clientId":"cli","tokenUrl":"http://127.0.0.1:1/token","authorizationUrl":"http://127.0.0.1:1/authorize","deviceUrl":"http://127.0.0.1:1/device","introspectionUrl":"http://127.0.0.1:1/introspect"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-device"}}
// the server cannot be reached
>> {"jsonrpc":"2.0","id":2,"method":"oauth.device","params":{"credential":"transcript-device"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32018,"message":"<any>","data":{"failure":"<any>"}}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.delete","params":{"credential":"transcript-device"}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
