// deleting needs a name; cookies.clear removes all cookies
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; Domain=example.com; Secure","b=2"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":[{"kind":"added","name":"a","domain":"example.com","path":"/"},{"kind":"added","name":"b","domain":"www.example.com","path":"/"}]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.delete","params":{"session":"api","name":"b"}}
<< {"jsonrpc":"2.0","id":3,"result":{"changes":[{"kind":"deleted","name":"b","domain":"www.example.com","path":"/"}]}}
>> {"jsonrpc":"2.0","id":4,"method":"cookies.delete","params":{"session":"api"}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/name"}}}
