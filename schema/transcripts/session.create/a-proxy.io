// its requests go through a proxy, except to this machine; the password is never shown
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","proxy":{"url":"http://ada:s3cret@proxy.example:3128","bypass":["localhost","127.0.0.0/8"]}}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json","session":"api","handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"session.get","params":{"session":"api"}}
<< {"jsonrpc":"2.0","id":3,"result":{"session":"<s>","proxy":{"url":"http://ada:***@proxy.example:3128","bypass":["localhost","127.0.0.0/8"]},"...":"<any>"}}
