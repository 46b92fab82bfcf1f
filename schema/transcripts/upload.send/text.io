// the default method is POST
>> {"jsonrpc":"2.0","id":1,"method":"upload.send","params":{"url":"{origin}/status/204","body":{"text":"hello"},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"url":"{origin}/status/204","method":"POST","status":204,"httpVersion":"1.1","headers":"<any>","body":{"kind":"none","size":0,"...":"<any>"},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"upload.send","params":{"url":"{origin}/echo"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"body is required","data":{"pointer":"/body"}}}
