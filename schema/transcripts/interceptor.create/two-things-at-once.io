>> {"jsonrpc":"2.0","id":1,"method":"interceptor.create","params":{"interceptor":{"bearer":"t0ken","headers":{"X-Api":"1"}}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/interceptor"}}}
