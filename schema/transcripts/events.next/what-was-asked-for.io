// events that wait for the client, in place of being sent
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","events":{"kinds":["response"],"pull":true}}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"events.next","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"events":[{"method":"event.response","params":{"request":"<r>","seq":0,"status":200,"...":"<any>"}}],"dropped":0,"end":true}}
