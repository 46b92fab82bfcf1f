// several messages at once, and the server's replies
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/websocket"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"websocket.send","params":{"stream":"<s>","messages":[{"text":"a"},{"base64":"AAEC"}]}}
<< {"jsonrpc":"2.0","id":2,"result":{"sent":2,"room":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.read","params":{"stream":"<s>","items":1}}
<< {"jsonrpc":"2.0","id":3,"result":{"values":[{"text":"a"}],"offset":0,"bytes":1,"seq":0,"end":false}}
>> {"jsonrpc":"2.0","id":4,"method":"stream.read","params":{"stream":"<s>","items":1}}
<< {"jsonrpc":"2.0","id":4,"result":{"values":[{"base64":"AAEC"}],"offset":1,"bytes":3,"seq":1,"end":false}}
