// over plain http the Secure cookie is left out
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; Domain=example.com; Secure","b=2"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":[{"kind":"added","name":"a","domain":"example.com","path":"/"},{"kind":"added","name":"b","domain":"www.example.com","path":"/"}]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.header","params":{"session":"api","url":"https://www.example.com/x"}}
<< {"jsonrpc":"2.0","id":3,"result":{"value":"a=1; b=2"}}
>> {"jsonrpc":"2.0","id":4,"method":"cookies.header","params":{"session":"api","url":"http://www.example.com/x"}}
<< {"jsonrpc":"2.0","id":4,"result":{"value":"b=2"}}
>> {"jsonrpc":"2.0","id":5,"method":"cookies.header","params":{"session":"api","url":"https://example.org/"}}
<< {"jsonrpc":"2.0","id":5,"result":{}}
