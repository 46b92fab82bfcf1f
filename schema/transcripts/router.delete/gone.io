// a deleted router is unknown
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"api","baseUrl":"http://example.org","endpoints":{}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"api","endpoints":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.delete","params":{"router":"<router>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"router.delete","params":{"router":"api"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"router names nothing here: api is no router; router.list names all routers","data":{"pointer":"/router"}}}
