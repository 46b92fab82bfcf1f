// every complaint names its place
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":"soon"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/seconds","...":"<any>"}}}
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.sleep","params":{"a/b":1}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/a~1b","known":["seconds"],"...":"<any>"}}}
>> {"jsonrpc":"2.0","id":3,"method":"diagnostics.sleep"}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/seconds","...":"<any>"}}}
