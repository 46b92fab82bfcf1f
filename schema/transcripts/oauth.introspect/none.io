>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-introspect","grant":"authorizationCode","clientId":"cli","tokenUrl":"http://127.0.0.1:1/token","authorizationUrl":"http://127.0.0.1:1/authorize","deviceUrl":"http://127.0.0.1:1/device","introspectionUrl":"http://127.0.0.1:1/introspect"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-introspect"}}
// there is no token yet
>> {"jsonrpc":"2.0","id":2,"method":"oauth.introspect","params":{"credential":"transcript-introspect"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32018,"message":"<any>","data":{"failure":"<any>"}}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.delete","params":{"credential":"transcript-introspect"}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
