// later covers earlier
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"api","baseUrl":"http://example.org/v1/","defaults":{"query":{"key":"k"},"method":"POST"},"endpoints":{"make":{"path":"things","places":{"thing":"body"}}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"api","endpoints":["make"]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.build","params":{"router":"api","endpoint":"make","params":{"thing":{"a":1}},"overrides":{"query":{"key":"other"}}}}
<< {"jsonrpc":"2.0","id":2,"result":{"method":"POST","url":"http://example.org/v1/things?key=other","headers":"<any>","body":{"kind":"json","size":7,"contentType":"application/json","text":"{\"a\":1}"},"curl":"<any>"}}
