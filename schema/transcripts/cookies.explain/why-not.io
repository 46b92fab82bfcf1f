// why a cookie is not sent, and why a Set-Cookie field is refused
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; Path=/x; Secure"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":["<any>"]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.explain","params":{"session":"api","url":"https://www.example.com/","setCookie":["b=2; Domain=.co.uk"]}}
<< {"jsonrpc":"2.0","id":3,"result":{"host":"www.example.com","site":"example.com","secure":true,"crossSite":false,"stored":[{"name":"a","domain":"www.example.com","path":"/x","sent":false,"reason":"otherPath","message":"<any>"}],"received":[{"taken":false,"name":"b","reason":"domainMismatch","message":"<any>"}]}}
