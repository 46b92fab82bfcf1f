// a fault has the code of the real failure
>> {"jsonrpc":"2.0","id":1,"method":"stub.add","params":{"url":"https://down.example/*","fault":"refused"}}
<< {"jsonrpc":"2.0","id":1,"result":{"stub":"stub_1"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"https://down.example/a"}}
<< {"jsonrpc":"2.0","id":2,"result":{"error":{"code":1402,"...":0},"...":0}}
