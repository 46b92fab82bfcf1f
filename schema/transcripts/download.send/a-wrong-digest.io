// a file with a wrong digest does not get its name
>> {"jsonrpc":"2.0","id":1,"method":"download.send","params":{"url":"{origin}/file/9","destination":{"directory":"{tmp}"},"checksum":{"md5":"00000000000000000000000000000000"},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"status":200,"body":{"kind":"none","size":9,"...":"<any>"},"error":{"code":1806,"kind":"downloadFailed","reason":"checksumMismatch","message":"<any>","retryable":false,"data":{"algorithm":"md5","expected":"00000000000000000000000000000000","actual":"<any>"}},"...":"<any>"}}
