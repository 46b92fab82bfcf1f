>> {"jsonrpc":"2.0","id":1,"method":"server.metrics"}
<< {"jsonrpc":"2.0","id":1,"result":{"contentType":"text/plain; version=0.0.4; charset=utf-8","text":"<any>"}}
