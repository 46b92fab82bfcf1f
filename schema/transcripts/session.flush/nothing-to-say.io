>> {"jsonrpc":"2.0","id":1,"method":"session.flush","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{}}
