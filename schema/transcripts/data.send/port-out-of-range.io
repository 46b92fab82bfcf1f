>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"http://127.0.0.1:99999/"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/url","...":"<any>"}}}
