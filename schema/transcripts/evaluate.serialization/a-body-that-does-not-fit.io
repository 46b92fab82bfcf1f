// the failure says where
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.serialization","params":{"response":{"status":200,"body":{"json":{"id":"one"}}},"serialize":{"schema":{"properties":{"id":{"type":"integer"}}}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"body":{"kind":"json","size":12,"json":{"id":"one"}},"error":{"code":1705,"kind":"responseSerializationFailed","reason":"decodingFailed","message":"<any>","retryable":false,"data":{"instancePointer":"/id"}}}}
