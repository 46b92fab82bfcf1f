// a wrong password is tried once; the refusal is the response
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/basic-auth/ada/s3cret","auth":{"username":"ada","password":"wrong"},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"status":401,"attempts":1,"...":"<any>"}}
