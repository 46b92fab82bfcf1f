// a broken line costs only itself
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","cookies":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.import","params":{"session":"api","text":"www.example.com\tFALSE\t/\tFALSE\t0\ta\t1\nbroken\n"}}
<< {"jsonrpc":"2.0","id":2,"result":{"imported":1,"skipped":[{"line":2,"message":"<any>"}]}}
>> {"jsonrpc":"2.0","id":3,"method":"cookies.import","params":{"session":"api","format":"json","text":"[{\"name\":\"b\",\"value\":\"2\",\"domain\":\"www.example.com\"}]"}}
<< {"jsonrpc":"2.0","id":3,"result":{"imported":1,"skipped":[]}}
>> {"jsonrpc":"2.0","id":4,"method":"cookies.header","params":{"session":"api","url":"http://www.example.com/"}}
<< {"jsonrpc":"2.0","id":4,"result":{"value":"a=1; b=2"}}
