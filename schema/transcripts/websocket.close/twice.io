// closing a closed WebSocket returns its end
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/websocket"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"websocket.close","params":{"stream":"<s>","reason":"done"}}
<< {"jsonrpc":"2.0","id":2,"result":{"code":1000,"reason":"done","clean":true}}
>> {"jsonrpc":"2.0","id":3,"method":"websocket.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"code":1000,"reason":"done","clean":true}}
