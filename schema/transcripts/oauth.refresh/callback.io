// the client's own code brings the token
>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-refresh","grant":"callback","callback":"mine","token":{"accessToken":"a0"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-refresh"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.refresh","params":{"credential":"transcript-refresh"}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.refresh","params":{"callback":"mine","credential":"transcript-refresh","reason":"asked","scope":[],"deadline":"<any>"}}
>> {"jsonrpc":"2.0","id":"<question>","result":{"token":{"accessToken":"a1"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"credential":"transcript-refresh","state":"ready","...":"<any>"}}
