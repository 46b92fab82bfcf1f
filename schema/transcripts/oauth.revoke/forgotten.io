>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-revoke","grant":"authorizationCode","clientId":"cli","tokenUrl":"http://127.0.0.1:1/token","authorizationUrl":"http://127.0.0.1:1/authorize","deviceUrl":"http://127.0.0.1:1/device","introspectionUrl":"http://127.0.0.1:1/introspect"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-revoke"}}
// the server has no place to revoke tokens: they are forgotten all the same
>> {"jsonrpc":"2.0","id":2,"method":"oauth.revoke","params":{"credential":"transcript-revoke"}}
<< {"jsonrpc":"2.0","id":2,"result":{"revoked":false,"error":{"kind":"config","reason":"no_revocation_endpoint","message":"<any>"}}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.delete","params":{"credential":"transcript-revoke"}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
