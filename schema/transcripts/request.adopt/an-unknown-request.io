// an unknown request cannot be adopted
>> {"jsonrpc":"2.0","id":1,"method":"request.adopt","params":{"request":"req_aaaaaaaaaaaaaaaa"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/request"}}}
