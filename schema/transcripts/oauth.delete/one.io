>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-delete","grant":"callback","callback":"mine"}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-delete"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.delete","params":{"credential":"transcript-delete"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.delete","params":{"credential":"transcript-delete"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/credential"}}}
