>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/echo","body":{"text":"hello"}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/body","...":"<any>"}}}
