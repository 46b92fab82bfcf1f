// a slow download, of which something has come
>> {"jsonrpc":"2.0","id":1,"method":"download.start","params":{"url":"{origin}/file/10000000","destination":{"path":"{tmp}/file"},"rateLimit":10,"events":["progress"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
<< {"jsonrpc":"2.0","method":"event.progress","params":{"request":"<r>","seq":0,"direction":"download","total":10000000,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.cancel","params":{"request":"<r>","resumeData":true}}
<< {"jsonrpc":"2.0","id":2,"result":{"state":"cancelled","resumeData":"<data>"}}
// only the rest is asked for
>> {"jsonrpc":"2.0","id":3,"method":"download.resume","params":{"resumeData":"<data>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"request":"<s>"}}
>> {"jsonrpc":"2.0","id":4,"method":"request.wait","params":{"request":"<s>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"ok":true,"request":"<s>","status":206,"body":{"kind":"file","size":10000000,"path":"{tmp}/file","...":"<any>"},"...":"<any>"}}
