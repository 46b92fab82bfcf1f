// a cancelled call is answered
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":30}}
>> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"<any>","data":{"reason":"cancelled"}}}
