// all events come before the answer
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.notify","params":{"count":2}}
<< {"jsonrpc":"2.0","method":"diagnostics.tick","params":{"n":0}}
<< {"jsonrpc":"2.0","method":"diagnostics.tick","params":{"n":1}}
<< {"jsonrpc":"2.0","id":1,"result":{"sent":2}}
