// a stub responds in place of the server, however the request came to be
>> {"jsonrpc":"2.0","id":1,"method":"stub.add","params":{"method":"GET","url":"https://api.example.com/users/{id}","response":{"status":201,"json":{"id":7}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"stub":"stub_1"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"https://api.example.com/users/7?full=1"}}
<< {"jsonrpc":"2.0","id":2,"result":{"status":201,"body":{"json":{"id":7},"...":0},"...":0}}
