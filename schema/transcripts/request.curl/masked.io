// secrets are masked
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","headers":{"Authorization":"Bearer secret"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.curl","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"command":"<any>"}}
