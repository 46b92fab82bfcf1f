>> {"jsonrpc":"2.0","id":1,"method":"cache.put","params":{"url":"{origin}/page","headers":{"Cache-Control":"max-age=600"},"base64":"aGVsbG8=","tags":["manuals"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"url":"{origin}/page","status":200,"size":5,"age":0,"fresh":true,"forAll":true,"tags":["manuals"],"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cache.list","params":{"tag":"manuals"}}
<< {"jsonrpc":"2.0","id":2,"result":{"entries":[{"url":"{origin}/page","status":200,"size":5,"...":"<any>"}]}}
