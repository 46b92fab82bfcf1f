// cookies without an end of their own go, the others stay
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1","b=2; Max-Age=100"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":["<any>","<any>"]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.clear","params":{"session":"api","sessionOnly":true}}
<< {"jsonrpc":"2.0","id":3,"result":{"deleted":1}}
>> {"jsonrpc":"2.0","id":4,"method":"cookies.clear","params":{"session":"api"}}
<< {"jsonrpc":"2.0","id":4,"result":{"deleted":1}}
