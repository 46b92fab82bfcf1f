// the way to this machine itself
>> {"jsonrpc":"2.0","id":1,"method":"reachability.status","params":{"url":"http://127.0.0.1:9/"}}
<< {"jsonrpc":"2.0","id":1,"result":{"status":"reachable","interface":{"name":"lo","kind":"loopback"},"ipv4":true,"ipv6":false}}
