// credentials for the named servers only; the password is never shown
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","credentials":[{"url":"{origin}/","username":"ada","password":"s3cret"}]}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/basic-auth/ada/s3cret","session":"api","handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"session.get","params":{"session":"api"}}
<< {"jsonrpc":"2.0","id":3,"result":{"session":"<s>","credentials":[{"url":"<any>","username":"ada","password":"***","preemptive":false}],"...":"<any>"}}
