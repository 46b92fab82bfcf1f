>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-callback","grant":"authorizationCode","clientId":"cli","tokenUrl":"http://127.0.0.1:1/token","authorizationUrl":"http://127.0.0.1:1/authorize","deviceUrl":"http://127.0.0.1:1/device","introspectionUrl":"http://127.0.0.1:1/introspect"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-callback"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.login","params":{"credential":"transcript-callback","redirect":"https://app.example/callback"}}
<< {"jsonrpc":"2.0","id":2,"result":{"url":"<any>","redirect":"https://app.example/callback","state":"<any>","expiresIn":300.0}}
// an address that is not the answer of this login
>> {"jsonrpc":"2.0","id":3,"method":"oauth.callback","params":{"credential":"transcript-callback","url":"https://app.example/callback?code=c&state=other"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32018,"message":"state did not match; someone else may have opened the address","data":{"failure":"<any>"}}}
>> {"jsonrpc":"2.0","id":4,"method":"oauth.delete","params":{"credential":"transcript-callback"}}
<< {"jsonrpc":"2.0","id":4,"result":{}}
