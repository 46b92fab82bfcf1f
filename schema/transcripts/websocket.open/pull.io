// messages are read; the server chooses a subprotocol
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/websocket/2","protocols":["chat"],"compact":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","protocol":"chat","response":{"ok":true,"request":"<r>","url":"{origin}/websocket/2","method":"GET","status":101,"...":"<any>"}}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>","items":1}}
<< {"jsonrpc":"2.0","id":2,"result":{"values":["message 0"],"offset":0,"bytes":9,"seq":0,"end":false}}
>> {"jsonrpc":"2.0","id":3,"method":"websocket.close","params":{"stream":"<s>","code":4000,"reason":"enough"}}
<< {"jsonrpc":"2.0","id":3,"result":{"code":4000,"reason":"enough","clean":true}}
>> {"jsonrpc":"2.0","id":4,"method":"stream.read","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"values":["message 1"],"offset":9,"bytes":9,"seq":1,"end":"<any>","...":"<any>"}}
