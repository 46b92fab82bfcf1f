// an endpoint with its parameters
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"api","baseUrl":"http://example.org","endpoints":{"one":{"path":"/users/{id}","summary":"One user.","places":{"trace":{"in":"header","name":"X-Trace"}}}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"api","endpoints":["one"]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.describe","params":{"router":"api","endpoint":"one"}}
<< {"jsonrpc":"2.0","id":2,"result":{"router":"<router>","name":"api","baseUrl":"http://example.org","shared":false,"endpoints":[{"name":"one","method":"GET","path":"/users/{id}","summary":"One user.","places":{"trace":{"in":"header","name":"X-Trace"}}}]}}
