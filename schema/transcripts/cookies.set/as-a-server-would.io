// a cookie for the whole site, and a cookie for its host; a forbidden cookie is refused with its reason
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; Domain=example.com; Secure","b=2; Domain=com"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":[{"kind":"added","name":"a","domain":"example.com","path":"/"},{"kind":"refused","name":"b","domain":"www.example.com","path":"/","reason":"publicSuffix","message":"<any>"}]}}
