// the routers of this connection, and shared routers
>> {"jsonrpc":"2.0","id":1,"method":"router.list","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"routers":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.define","params":{"name":"api","baseUrl":"http://example.org","endpoints":{}}}
<< {"jsonrpc":"2.0","id":2,"result":{"router":"<router>","name":"api","endpoints":[]}}
>> {"jsonrpc":"2.0","id":3,"method":"router.list","params":{}}
<< {"jsonrpc":"2.0","id":3,"result":{"routers":[{"router":"<router>","name":"api","baseUrl":"http://example.org","shared":false,"endpoints":0}]}}
