// calls that still run have two seconds to end
>> {"jsonrpc":"2.0","id":1,"method":"server.stop","params":{"grace":2}}
<< {"jsonrpc":"2.0","id":1,"result":{}}
