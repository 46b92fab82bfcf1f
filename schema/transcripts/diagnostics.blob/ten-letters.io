>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.blob","params":{"bytes":10}}
<< {"jsonrpc":"2.0","id":1,"result":{"data":"<any>"}}
