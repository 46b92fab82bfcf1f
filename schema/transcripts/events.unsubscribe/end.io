>> {"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["attempt.*"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"subscription":"<s>","topics":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"events.unsubscribe","params":{"subscription":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"told":0,"dropped":0}}
// the handle is then unknown
>> {"jsonrpc":"2.0","id":3,"method":"events.unsubscribe","params":{"subscription":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/subscription"}}}
