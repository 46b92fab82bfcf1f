// a new cassette is recorded, and then played: without the network
>> {"jsonrpc":"2.0","id":1,"method":"replay.start","params":{"path":"{tmp}/once.har"}}
<< {"jsonrpc":"2.0","id":1,"result":{"path":"<any>","mode":"once","recording":true,"entries":0,"unusable":[],"played":0,"recorded":0,"missed":0,"unused":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":2,"result":{"status":200,"...":0}}
>> {"jsonrpc":"2.0","id":3,"method":"replay.stop"}
<< {"jsonrpc":"2.0","id":3,"result":{"recorded":1,"...":0}}
>> {"jsonrpc":"2.0","id":4,"method":"replay.start","params":{"path":"{tmp}/once.har"}}
<< {"jsonrpc":"2.0","id":4,"result":{"recording":false,"entries":1,"...":0}}
>> {"jsonrpc":"2.0","id":5,"method":"data.send","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":5,"result":{"status":200,"...":0}}
>> {"jsonrpc":"2.0","id":6,"method":"data.send","params":{"url":"{origin}/other"}}
<< {"jsonrpc":"2.0","id":6,"result":{"error":{"code":2200,"...":0},"...":0}}
