// a form, and the event of its end
>> {"jsonrpc":"2.0","id":1,"method":"upload.start","params":{"url":"{origin}/status/201","body":{"multipart":[{"name":"title","text":"Wolves"}]},"events":["finish"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
<< {"jsonrpc":"2.0","method":"event.finish","params":{"request":"<r>","seq":0,"response":{"ok":true,"request":"<r>","url":"{origin}/status/201","method":"POST","status":201,"httpVersion":"1.1","headers":"<any>","body":"<any>","attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}}
