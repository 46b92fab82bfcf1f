// the request that would be sent
>> {"jsonrpc":"2.0","id":1,"method":"request.build","params":{"url":"http://example.org/a","method":"POST","query":{"q":"a b"},"headers":{"X-Trace":"1"},"body":{"json":{"id":1}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"method":"POST","url":"http://example.org/a?q=a%20b","headers":"<any>","body":{"kind":"json","size":8,"contentType":"application/json","text":"{\"id\":1}"},"curl":"<any>"}}
