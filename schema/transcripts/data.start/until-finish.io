// the handle comes first, then its events
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","events":["finish"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
<< {"jsonrpc":"2.0","method":"event.finish","params":{"request":"<r>","seq":0,"response":{"ok":true,"request":"<r>","url":"{origin}/json","method":"GET","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"json","size":16,"contentType":"application/json","json":{"id":1,"x":0.1}},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}}
