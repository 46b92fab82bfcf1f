>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-list","grant":"callback","callback":"mine"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-list"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.list","params":{}}
<< {"jsonrpc":"2.0","id":2,"result":{"credentials":"<any>"}}
