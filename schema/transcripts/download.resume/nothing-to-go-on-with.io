>> {"jsonrpc":"2.0","id":1,"method":"download.resume","params":{"path":"{tmp}/nothing"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/path","state":"absent"}}}
// invalid resume data are a failure of the download
>> {"jsonrpc":"2.0","id":2,"method":"download.resume","params":{"resumeData":"no sense"}}
<< {"jsonrpc":"2.0","id":2,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"ok":false,"error":{"code":1802,"kind":"downloadedFileMoveFailed","reason":"resumeDataUnusable","...":"<any>"},"...":"<any>"}}
