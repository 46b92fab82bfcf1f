// the present state comes with the reply; events.unsubscribe ends the watch
>> {"jsonrpc":"2.0","id":1,"method":"reachability.watch","params":{"host":"127.0.0.1"}}
<< {"jsonrpc":"2.0","id":1,"result":{"subscription":"<s>","status":"reachable","interface":{"name":"lo","kind":"loopback"},"ipv4":true,"ipv6":false}}
>> {"jsonrpc":"2.0","id":2,"method":"events.unsubscribe","params":{"subscription":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"told":0,"dropped":0}}
