// nothing is sent before request.resume
>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json","startImmediately":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.get","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"request":"<r>","state":"created","attempts":0,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.resume","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"state":"<any>"}}
>> {"jsonrpc":"2.0","id":4,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"ok":true,"request":"<r>","status":200,"...":"<any>"}}
