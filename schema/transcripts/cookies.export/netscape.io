// as curl reads and writes it; HttpOnly stands in front
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/","setCookie":["a=1; HttpOnly; Domain=example.com"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"changes":["<any>"]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.export","params":{"session":"api"}}
<< {"jsonrpc":"2.0","id":3,"result":{"exported":1,"skipped":[],"text":"# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n#HttpOnly_.example.com\tTRUE\t/\tFALSE\t0\ta\t1\n"}}
