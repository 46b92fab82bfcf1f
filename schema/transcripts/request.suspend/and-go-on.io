// a suspended request stays pending, however long the wait
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/0.2"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.suspend","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"state":"suspended"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.wait","params":{"request":"<r>","timeout":0.4}}
<< {"jsonrpc":"2.0","id":3,"result":{"pending":true,"state":"suspended"}}
>> {"jsonrpc":"2.0","id":4,"method":"request.resume","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"state":"<any>"}}
>> {"jsonrpc":"2.0","id":5,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":5,"result":{"ok":true,"request":"<r>","status":200,"...":"<any>"}}
