>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.callback","params":{}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.ask","params":{}}
>> {"jsonrpc":"2.0","id":"<question>","error":{"code":-32601,"message":"no such callback"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"<any>","data":{"error":{"code":-32601,"message":"no such callback"}}}}
