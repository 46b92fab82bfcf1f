// returns the previous settings
>> {"jsonrpc":"2.0","id":1,"method":"server.setLog","params":{"level":"error"}}
<< {"jsonrpc":"2.0","id":1,"result":{"level":"<level>","to":"stderr","format":"text"}}
>> {"jsonrpc":"2.0","id":2,"method":"server.setLog","params":{"level":"<level>","to":"stderr","format":"text"}}
<< {"jsonrpc":"2.0","id":2,"result":{"level":"error","to":"stderr","format":"text"}}
