// an editor's LSP client drives the service
>> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}
<< {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{"outrider":{"protocol":1,"...":"<any>"}}},"serverInfo":{"name":"outrider","version":"<any>"}}}
>> {"jsonrpc":"2.0","method":"initialized","params":{}}
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.echo","params":{"x":1}}
<< {"jsonrpc":"2.0","id":2,"result":{"x":1}}
