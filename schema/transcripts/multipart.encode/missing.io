// a file that is not there
>> {"jsonrpc":"2.0","id":1,"method":"multipart.encode","params":{"parts":[{"name":"photo","file":"/nonexistent/wolf.png"}]}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the file /nonexistent/wolf.png of part \"photo\" does not exist","data":{"pointer":"/parts/0/file","failure":{"code":1222,"kind":"multipartEncodingFailed","reason":"bodyPartFileNotReachable"}}}}
