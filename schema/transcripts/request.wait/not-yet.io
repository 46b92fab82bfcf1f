// the wait runs out, the request goes on
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/2"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.wait","params":{"request":"<r>","timeout":0.05}}
<< {"jsonrpc":"2.0","id":2,"result":{"pending":true,"state":"<any>"}}
