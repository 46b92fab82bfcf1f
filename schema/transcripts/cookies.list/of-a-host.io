// the cookies of a host
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; Domain=example.com; Secure","b=2"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":[{"kind":"added","name":"a","domain":"example.com","path":"/"},{"kind":"added","name":"b","domain":"www.example.com","path":"/"}]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.list","params":{"session":"api","domain":"www.example.com"}}
<< {"jsonrpc":"2.0","id":3,"result":{"cookies":[{"name":"b","value":"2","domain":"www.example.com","path":"/","hostOnly":true,"secure":false,"httpOnly":false,"createdAt":"<any>"}]}}
