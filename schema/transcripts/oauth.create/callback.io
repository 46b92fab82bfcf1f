// the token is applied to the requests that name the credential, at its origins
>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-create","grant":"callback","callback":"mine","token":{"accessToken":"a0"},"origins":["{origin}"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-create"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json","auth":{"oauth":"transcript-create"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
// other origins do not get the token
>> {"jsonrpc":"2.0","id":3,"method":"data.send","params":{"url":"http://127.0.0.1:1/","auth":{"oauth":"transcript-create"}}}
<< {"jsonrpc":"2.0","id":3,"result":{"ok":false,"error":{"code":1300,"kind":"requestAdaptationFailed","pointer":"/auth/oauth","...":"<any>"},"...":"<any>"}}
// what one server wants beside the scope, and a certificate that authenticates the client
>> {"jsonrpc":"2.0","id":6,"method":"oauth.create","params":{"name":"transcript-certificate","grant":"clientCredentials","clientId":"app","tokenUrl":"https://127.0.0.1:1/token","parameters":{"audience":"https://api.example"},"clientAuth":{"certificate":{"file":"/tmp/client.pem","key":"/tmp/client.key"}}}}
<< {"jsonrpc":"2.0","id":6,"result":{"credential":"transcript-certificate"}}
>> {"jsonrpc":"2.0","id":7,"method":"oauth.get","params":{"credential":"transcript-certificate"}}
<< {"jsonrpc":"2.0","id":7,"result":{"credential":"transcript-certificate","parameters":{"audience":"https://api.example"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":8,"method":"oauth.delete","params":{"credential":"transcript-certificate"}}
<< {"jsonrpc":"2.0","id":8,"result":{}}
// a credential without a name has a handle, and ends with the connection
>> {"jsonrpc":"2.0","id":4,"method":"oauth.create","params":{"grant":"callback","callback":"mine"}}
<< {"jsonrpc":"2.0","id":4,"result":{"credential":"<handle>"}}
>> {"jsonrpc":"2.0","id":5,"method":"oauth.create","params":{"grant":"refresh","clientId":"app"}}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/tokenUrl"}}}
