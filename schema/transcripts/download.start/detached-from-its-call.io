>> {"jsonrpc":"2.0","id":1,"method":"download.start","params":{"url":"{origin}/file/9","destination":{"directory":"{tmp}","filename":"nine"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"request":"<r>","body":{"kind":"file","size":9,"path":"{tmp}/nine","...":"<any>"},"...":"<any>"}}
