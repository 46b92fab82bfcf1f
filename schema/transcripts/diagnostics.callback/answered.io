// the service asks, the client answers
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.callback","params":{"method":"callback.add","params":{"a":2,"b":3}}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.add","params":{"a":2,"b":3}}
>> {"jsonrpc":"2.0","id":"<question>","result":{"sum":5}}
<< {"jsonrpc":"2.0","id":1,"result":{"answer":{"sum":5},"id":"<question>"}}
