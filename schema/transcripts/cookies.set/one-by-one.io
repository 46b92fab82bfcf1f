// a cookie from another source, if the cookie breaks no rule
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","cookies":[{"name":"sid","value":"x","domain":"example.com","secure":true},{"name":"__Secure-b","value":"y","domain":"example.com"}]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":[{"kind":"added","name":"sid","domain":"example.com","path":"/"},{"kind":"refused","name":"__Secure-b","domain":"","path":"/","reason":"prefix","message":"<any>"}]}}
