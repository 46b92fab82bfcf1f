// for clients that cannot be called: the decision waits for events.next
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","interceptors":[{"callback":"sign","asks":["adapt"],"decide":"pull"}]}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"events.next","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"events":[{"method":"event.decision","params":{"request":"<r>","seq":0,"decision":"<d>","kind":"adapt","params":{"callback":"sign","...":"<any>"},"expires":"<any>"}}],"dropped":0,"end":false}}
>> {"jsonrpc":"2.0","id":3,"method":"request.decide","params":{"decision":"<d>","answer":{"headers":{"X-Signature":"abc"}}}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
>> {"jsonrpc":"2.0","id":4,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"ok":true,"status":200,"...":"<any>"}}
