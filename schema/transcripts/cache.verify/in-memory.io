>> {"jsonrpc":"2.0","id":1,"method":"cache.verify","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true}}
