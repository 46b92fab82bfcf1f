// with a window of 1, the same event comes again until events.ack
>> {"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["request.created","request.finished"],"pull":true,"window":1}}
<< {"jsonrpc":"2.0","id":1,"result":{"subscription":"<s>","topics":["request.created","request.finished"]}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"events.next","params":{"subscription":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"events":[{"method":"event.monitor","params":{"subscription":"<s>","seq":0,"topic":"request.created","...":"<any>"}}],"dropped":0,"end":false}}
>> {"jsonrpc":"2.0","id":4,"method":"events.ack","params":{"subscription":"<s>","seq":0}}
<< {"jsonrpc":"2.0","id":4,"result":{}}
>> {"jsonrpc":"2.0","id":5,"method":"events.next","params":{"subscription":"<s>"}}
<< {"jsonrpc":"2.0","id":5,"result":{"events":[{"method":"event.monitor","params":{"subscription":"<s>","seq":1,"topic":"request.finished","...":"<any>"}}],"dropped":0,"end":false}}
