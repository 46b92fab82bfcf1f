>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/delay/2","tag":"slow"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.list","params":{"tag":"slow"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.list","params":{"tag":"other"}}
<< {"jsonrpc":"2.0","id":2,"result":{"requests":[{"request":"<r>","tag":"slow","...":"<any>"}]}}
<< {"jsonrpc":"2.0","id":3,"result":{"requests":[]}}
