// a value that fits, and a value that does not
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.schema","params":{"schema":{"type":"object","properties":{"age":{"type":"integer","minimum":0}},"required":["name"]},"value":{"name":"Ada","age":36}}}
<< {"jsonrpc":"2.0","id":1,"result":{"valid":true,"errors":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"evaluate.schema","params":{"schema":{"type":"object","properties":{"age":{"type":"integer","minimum":0}},"required":["name"]},"value":{"age":-1}}}
<< {"jsonrpc":"2.0","id":2,"result":{"valid":false,"errors":[{"instancePointer":"/name","schemaPointer":"/required","message":"name is required"},{"instancePointer":"/age","schemaPointer":"/properties/age/minimum","message":"age must be at least 0"}]}}
// a schema that cannot be used
>> {"jsonrpc":"2.0","id":3,"method":"evaluate.schema","params":{"schema":{"type":"strng"},"value":1}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"schema cannot be used: type must be one of null, boolean, integer, number, string, array, object, or a list of these","data":{"pointer":"/schema/type"}}}
