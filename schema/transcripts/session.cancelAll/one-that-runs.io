>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api"}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.start","params":{"url":"{origin}/delay/5","session":"api"}}
<< {"jsonrpc":"2.0","id":2,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":3,"method":"session.cancelAll","params":{"session":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"cancelled":1}}
>> {"jsonrpc":"2.0","id":4,"method":"request.get","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"request":"<r>","state":"cancelled","...":"<any>"}}
