// an interceptor is made once, and named by requests
>> {"jsonrpc":"2.0","id":1,"method":"interceptor.create","params":{"label":"api","interceptor":{"chain":[{"headers":{"X-Api":"1"}},{"bearer":"t0ken"}]}}}
<< {"jsonrpc":"2.0","id":1,"result":{"interceptor":"<i>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json","interceptors":["<i>"],"handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
