// the later spelling, in the earlier place
>> {"jsonrpc":"2.0","id":1,"method":"headers.normalize","params":{"headers":["c: a","b: 1"],"set":{"C":"c"},"remove":["B"],"auth":{"basic":{"username":"user","password":"password"}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"headers":[{"name":"C","value":"c"},{"name":"Authorization","value":"Basic dXNlcjpwYXNzd29yZA=="}],"text":"C: c\nAuthorization: Basic dXNlcjpwYXNzd29yZA=="}}
// fields that could not be sent are refused
>> {"jsonrpc":"2.0","id":2,"method":"headers.normalize","params":{"headers":{"X-A":"b\r\nX-C: d"}}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/headers/X-A","failure":{"code":1101,"kind":"createURLRequestFailed"}}}}
