// answers come as they are ready
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":0.2}}
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.sleep","params":{"seconds":0.01}}
<< {"jsonrpc":"2.0","id":2,"result":{"seconds":0.01}}
<< {"jsonrpc":"2.0","id":1,"result":{"seconds":0.2}}
