// requests that no stub is for fail, and are listed, too
>> {"jsonrpc":"2.0","id":1,"method":"stub.add","params":{"url":"/a","response":{"text":"hello"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"stub":"stub_1"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"http://one.example/b"}}
<< {"jsonrpc":"2.0","id":2,"result":{"error":{"code":2203,"...":0},"...":0}}
>> {"jsonrpc":"2.0","id":3,"method":"stub.requests"}
<< {"jsonrpc":"2.0","id":3,"result":{"requests":[{"method":"GET","url":"http://one.example/b","headers":"<any>","at":"<any>"}]}}
