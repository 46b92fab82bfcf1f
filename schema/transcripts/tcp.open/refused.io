// nothing listens there: the failure stands in the result
>> {"jsonrpc":"2.0","id":1,"method":"tcp.open","params":{"path":"/nonexistent/outrider.sock"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"request":"<r>","error":{"code":1402,"kind":"sessionTaskFailed","reason":"refused","message":"<any>","retryable":true,"phase":"connect","...":"<any>"}}}
// a host needs its port
>> {"jsonrpc":"2.0","id":2,"method":"tcp.open","params":{"host":"mail.example"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"port is required","data":{"pointer":"/port"}}}
