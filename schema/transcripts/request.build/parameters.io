// parameters in the body, beside a query
>> {"jsonrpc":"2.0","id":1,"method":"request.build","params":{"url":"http://example.org/a","method":"POST","query":{"q":1},"parameters":{"b":1.5,"a":2},"encoding":"json","auth":{"bearer":"abc"},"headers":{"Accept-Language":"en"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"method":"POST","url":"http://example.org/a?q=1","headers":"<any>","body":{"kind":"json","size":15,"contentType":"application/json","text":"{\"b\":1.5,\"a\":2}"},"curl":"<any>"}}
