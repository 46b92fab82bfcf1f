// how long a ping and its pong took
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/websocket"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"websocket.ping","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"rtt":"<any>"}}
