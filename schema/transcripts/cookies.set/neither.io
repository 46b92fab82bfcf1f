// exactly one of setCookie and cookies is required
>> {"jsonrpc":"2.0","id":1,"method":"cookies.set","params":{"session":"api","url":"https://www.example.com/"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":""}}}
