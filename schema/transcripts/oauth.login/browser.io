>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-login","grant":"authorizationCode","clientId":"cli","tokenUrl":"http://127.0.0.1:1/token","authorizationUrl":"http://127.0.0.1:1/authorize","deviceUrl":"http://127.0.0.1:1/device","introspectionUrl":"http://127.0.0.1:1/introspect"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-login"}}
// the person opens the URL, and the browser comes back to a listener
>> {"jsonrpc":"2.0","id":2,"method":"oauth.login","params":{"credential":"transcript-login"}}
<< {"jsonrpc":"2.0","id":2,"result":{"url":"<any>","redirect":"<any>","state":"<any>","expiresIn":300.0}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.login","params":{"credential":"transcript-login","redirect":"https://app.example/callback"}}
<< {"jsonrpc":"2.0","id":3,"result":{"url":"<any>","redirect":"https://app.example/callback","state":"<any>","expiresIn":300.0}}
// a parameter of this login alone
>> {"jsonrpc":"2.0","id":5,"method":"oauth.login","params":{"credential":"transcript-login","parameters":{"prompt":"consent"}}}
<< {"jsonrpc":"2.0","id":5,"result":{"url":"<any>","redirect":"<any>","state":"<any>","expiresIn":300.0}}
>> {"jsonrpc":"2.0","id":4,"method":"oauth.delete","params":{"credential":"transcript-login"}}
<< {"jsonrpc":"2.0","id":4,"result":{}}
