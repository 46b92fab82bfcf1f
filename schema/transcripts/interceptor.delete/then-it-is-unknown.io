>> {"jsonrpc":"2.0","id":1,"method":"interceptor.create","params":{"interceptor":{"bearer":"t0ken"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"interceptor":"<i>"}}
>> {"jsonrpc":"2.0","id":2,"method":"interceptor.delete","params":{"interceptor":"<i>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"data.send","params":{"url":"{origin}/json","interceptors":["<i>"]}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/interceptors/0"}}}
