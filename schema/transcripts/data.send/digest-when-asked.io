// the server's challenge comes first; then a proof is sent, not the password
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/digest-auth/ada/s3cret","auth":{"digest":{"username":"ada","password":"s3cret"}},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"status":200,"attempts":1,"...":"<any>"}}
