// a stub counts its responses, and shows its last request
>> {"jsonrpc":"2.0","id":1,"method":"stub.add","params":{"url":"/a","response":{"text":"hello"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"stub":"stub_1"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"http://one.example/a"}}
<< {"jsonrpc":"2.0","id":2,"result":{"status":200,"...":0}}
>> {"jsonrpc":"2.0","id":3,"method":"stub.list"}
<< {"jsonrpc":"2.0","id":3,"result":{"stubs":[{"stub":"stub_1","url":"/a","hits":1,"last":{"method":"GET","url":"http://one.example/a","...":0}}]}}
