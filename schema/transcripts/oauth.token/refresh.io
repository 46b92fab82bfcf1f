// a token that has ended is refreshed first
>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-token","grant":"callback","callback":"mine","token":{"accessToken":"a0","expiresIn":-1}}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-token"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.token","params":{"credential":"transcript-token"}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.refresh","params":{"callback":"mine","credential":"transcript-token","reason":"expired","scope":[],"expiresAt":"<any>","deadline":"<any>"}}
>> {"jsonrpc":"2.0","id":"<question>","result":{"token":{"accessToken":"a1","expiresIn":3600}}}
<< {"jsonrpc":"2.0","id":2,"result":{"accessToken":"a1","tokenType":"Bearer","expiresAt":"<any>","generation":2}}
// the same token again, without a refresh
>> {"jsonrpc":"2.0","id":3,"method":"oauth.token","params":{"credential":"transcript-token"}}
<< {"jsonrpc":"2.0","id":3,"result":{"accessToken":"a1","tokenType":"Bearer","expiresAt":"<any>","generation":2}}
// a server has refused it: refreshed, and there is none
>> {"jsonrpc":"2.0","id":4,"method":"oauth.token","params":{"credential":"transcript-token","refused":"a1"}}
<< {"jsonrpc":"2.0","id":"<another>","method":"callback.refresh","params":{"callback":"mine","credential":"transcript-token","reason":"refused","scope":[],"expiresAt":"<any>","deadline":"<any>"}}
>> {"jsonrpc":"2.0","id":"<another>","result":{"error":"logged out","final":true}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32018,"message":"<any>","data":{"failure":{"code":1322,"data":{"credential":"transcript-token","oauth":{"kind":"needsLogin","reason":"callback","message":"logged out"}},"...":"<any>"}}}}
