>> {"jsonrpc":"2.0","id":1,"method":"oauth.create","params":{"name":"transcript-set","grant":"callback","callback":"mine","token":{"accessToken":"a0"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"credential":"transcript-set"}}
>> {"jsonrpc":"2.0","id":2,"method":"oauth.set","params":{"credential":"transcript-set","token":{"accessToken":"a1"},"hold":true}}
<< {"jsonrpc":"2.0","id":2,"result":{"credential":"transcript-set","state":"ready","hold":true,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.token","params":{"credential":"transcript-set"}}
<< {"jsonrpc":"2.0","id":3,"result":{"accessToken":"a1","tokenType":"Bearer","generation":2}}
// without tokens there is nothing to send
>> {"jsonrpc":"2.0","id":4,"method":"oauth.set","params":{"credential":"transcript-set","clear":true}}
<< {"jsonrpc":"2.0","id":4,"result":{"credential":"transcript-set","state":"empty","...":"<any>"}}
>> {"jsonrpc":"2.0","id":5,"method":"oauth.token","params":{"credential":"transcript-set"}}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32018,"message":"<any>","data":{"failure":{"code":1320,"...":"<any>"}}}}
// the parameters of a login are those of its credential, and a parameter that every login has is refused
>> {"jsonrpc":"2.0","id":6,"method":"oauth.set","params":{"credential":"transcript-set","parameters":{"audience":"a"}}}
<< {"jsonrpc":"2.0","id":6,"result":{"credential":"transcript-set","parameters":{"audience":"a"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":7,"method":"oauth.set","params":{"credential":"transcript-set","parameters":{"state":"a"}}}
<< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/parameters/state"}}}
