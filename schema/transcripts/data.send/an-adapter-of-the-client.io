// the client's own code changes each attempt before the sending
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/status/204","interceptors":[{"callback":"sign","asks":["adapt"]}],"handles":false}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.adapt","params":{"callback":"sign","attempt":1,"method":"GET","url":"{origin}/status/204","headers":"<any>","retries":0,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":"<question>","result":{"headers":{"X-Signature":"abc"},"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"status":200,"url":"{origin}/json","...":"<any>"}}
