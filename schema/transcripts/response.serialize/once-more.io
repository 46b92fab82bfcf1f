// with reperform the request is sent again
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.serialize","params":{"response":"<r>","serialize":{"schema":{"required":["id"]}},"reperform":true}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"request":"<again>","body":{"kind":"json","size":16,"contentType":"application/json","json":{"id":1,"x":0.1}}}}
