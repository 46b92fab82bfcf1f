// a status is retried, although no validator rejects the response
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/status/503","retry":{"limit":1,"scale":0},"handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"url":"{origin}/status/503","status":503,"attempts":2,"...":"<any>"}}
