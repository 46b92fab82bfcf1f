>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.callback","params":{"timeout":0.1}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.ask","params":{}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"<any>","data":{"method":"callback.ask","timeout":0.1}}}
