// common settings of requests are given once
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","headers":{"X-Api":"1"},"interceptors":[{"bearer":"t0ken"}]}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json","session":"api","handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
