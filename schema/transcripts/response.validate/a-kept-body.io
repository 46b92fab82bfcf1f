>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stored"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"stored","size":16,"contentType":"application/json","response":"<b>"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.validate","params":{"response":"<b>","validate":{"contentType":["text/*"]}}}
<< {"jsonrpc":"2.0","id":2,"result":{"valid":false,"error":{"code":1601,"kind":"responseValidationFailed","reason":"unacceptableContentType","message":"<any>","retryable":false,"data":{"acceptable":["text/*"],"contentType":"application/json"}}}}
>> {"jsonrpc":"2.0","id":3,"method":"response.validate","params":{"response":"<b>","validate":{"status":["200..299"],"schema":{"required":["id"]}}}}
<< {"jsonrpc":"2.0","id":3,"result":{"valid":true}}
