// the log comes to this connection, and shows a reply without a call
>> {"jsonrpc":"2.0","id":1,"method":"server.setLog","params":{"level":"debug","to":"events"}}
<< {"jsonrpc":"2.0","id":1,"result":{"level":"warning","to":"stderr","format":"text"}}
>> {"jsonrpc":"2.0","id":1000000001,"result":{}}
<< {"jsonrpc":"2.0","method":"event.notice","params":{"level":"debug","code":"log","message":"<any>"}}
