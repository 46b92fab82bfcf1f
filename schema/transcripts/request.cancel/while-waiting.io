// the waiting call gets its response, with failure 1900
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/5"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.wait","params":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.cancel","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":false,"request":"<r>","body":{"kind":"none","size":0},"error":{"code":1900,"kind":"explicitlyCancelled","message":"<any>","retryable":false},"...":"<any>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"state":"cancelled"}}
