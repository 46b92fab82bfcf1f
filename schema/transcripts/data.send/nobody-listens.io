// a failed exchange is a result, too
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"http://127.0.0.1:1/"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"request":"<r>","url":"http://127.0.0.1:1/","method":"GET","body":{"kind":"none","size":0},"error":{"code":1402,"kind":"sessionTaskFailed","reason":"refused","message":"<any>","retryable":true,"...":"<any>"},"attempts":"<any>","redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
