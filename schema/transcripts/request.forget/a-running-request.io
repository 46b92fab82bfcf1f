>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/5"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.forget","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"request.get","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/request"}}}
