// the body comes in the shape that its Content-Type says
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"request":"<r>","url":"{origin}/json","method":"GET","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"json","size":16,"contentType":"application/json","json":{"id":1,"x":0.1}},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
