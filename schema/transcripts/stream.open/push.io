// the reply names the handle, then come the head, the bytes, their end, and the end of the request
>> {"jsonrpc":"2.0","id":1,"method":"stream.open","params":{"url":"{origin}/json","mode":"push","credit":1000,"events":["response","finish"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>"}}
<< {"jsonrpc":"2.0","method":"event.response","params":{"request":"<r>","seq":0,"status":200,"headers":"<any>","url":"{origin}/json","attempt":1}}
<< {"jsonrpc":"2.0","method":"event.data","params":{"stream":"<s>","seq":0,"offset":0,"base64":"eyJpZCI6MSwieCI6MC4xfQ=="}}
<< {"jsonrpc":"2.0","method":"event.end","params":{"stream":"<s>","seq":1,"size":16}}
<< {"jsonrpc":"2.0","method":"event.finish","params":{"request":"<r>","seq":1,"response":{"ok":true,"request":"<r>","url":"{origin}/json","method":"GET","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"none","size":16,"...":"<any>"},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}}
