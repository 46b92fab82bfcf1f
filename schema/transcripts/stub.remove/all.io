// without a name all stubs are removed
>> {"jsonrpc":"2.0","id":1,"method":"stub.add","params":{"url":"/a","response":{"text":"hello"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"stub":"stub_1"}}
>> {"jsonrpc":"2.0","id":2,"method":"stub.remove","params":{"stub":"stub_9"}}
<< {"jsonrpc":"2.0","id":2,"result":{"removed":0}}
>> {"jsonrpc":"2.0","id":3,"method":"stub.remove"}
<< {"jsonrpc":"2.0","id":3,"result":{"removed":1}}
