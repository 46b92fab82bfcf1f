>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/2","tag":"slow"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.get","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"request":"<r>","state":"<any>","method":"GET","url":"{origin}/delay/2","tag":"slow","attempts":"<any>","created":"<any>","progress":{"sent":0,"received":0,"...":"<any>"},"...":"<any>"}}
