// both handles come at once; stream.read reads the body
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","bodyTo":"stream"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"eyJpZCI6MSwieCI6MC4xfQ==","offset":0,"seq":0,"end":true}}
