// the result names the stream; the first read chooses the items
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stream"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"request":"<r>","url":"{origin}/json","method":"GET","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"stream","size":"<any>","contentType":"application/json","stream":"<s>"},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>","as":"json"}}
<< {"jsonrpc":"2.0","id":2,"result":{"values":[{"id":1,"x":0.1}],"offset":0,"bytes":16,"seq":0,"end":"<any>"}}
