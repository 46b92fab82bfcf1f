>> {"jsonrpc":"2.0","id":1,"method":"events.topics"}
<< {"jsonrpc":"2.0","id":1,"result":{"topics":"<any>"}}
