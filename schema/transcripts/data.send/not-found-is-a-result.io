// a status is not a failure
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/status/404","serialize":{"as":"text"},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"status":404,"url":"{origin}/status/404","method":"GET","httpVersion":"1.1","headers":"<any>","body":{"kind":"text","size":14,"contentType":"text/plain; charset=utf-8","text":"404 Not Found\n","...":"<any>"},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
