// the file is there when the answer comes
>> {"jsonrpc":"2.0","id":1,"method":"download.send","params":{"url":"{origin}/file/9","destination":{"path":"{tmp}/nine"},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"url":"{origin}/file/9","method":"GET","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"file","size":9,"contentType":"application/octet-stream","path":"{tmp}/nine","response":"<b>"},"suggestedFilename":"9","attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
// another download replaces the file only with replace
>> {"jsonrpc":"2.0","id":2,"method":"download.send","params":{"url":"{origin}/file/9","destination":{"path":"{tmp}/nine"},"handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":false,"body":{"kind":"none","size":0},"error":{"code":1801,"kind":"downloadedFileMoveFailed","reason":"destinationExists","message":"<any>","retryable":false,"data":{"path":"{tmp}/nine"}},"...":"<any>"}}
