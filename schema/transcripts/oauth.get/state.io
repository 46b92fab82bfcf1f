>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-get","grant":"callback","callback":"mine","scope":"read"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-get"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.get","params":{"credential":"transcript-get"}}
<< {"jsonrpc":"2.0","id":2,"result":{"credential":"transcript-get","state":"empty","generation":0,"scope":["read"],"counts":{"apply":0,"refresh":0,"didRequestFail":0,"isRequestAuthenticatedWith":0},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.get","params":{"credential":"nobody"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/credential"}}}
