// a response other than 101 is a failure, and names no stream
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","response":{"ok":false,"status":200,"body":{"kind":"json","json":{"id":1,"x":0.1},"...":"<any>"},"error":{"code":2000,"kind":"webSocketFailed","reason":"handshakeRefused","message":"<any>","retryable":false,"phase":"response","data":{"status":200,"headers":"<any>"}},"...":"<any>"}}}
