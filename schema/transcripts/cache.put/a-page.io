>> {"jsonrpc":"2.0","id":1,"method":"cache.put","params":{"url":"{origin}/page","headers":{"Cache-Control":"max-age=600"},"base64":"aGVsbG8=","tags":["manuals"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"url":"{origin}/page","status":200,"size":5,"age":0,"fresh":true,"forAll":true,"tags":["manuals"],"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/page","cache":true,"handles":false,"serialize":{"as":"text"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"url":"{origin}/page","body":{"kind":"text","text":"hello","...":"<any>"},"cache":{"status":"hit","...":"<any>"},"...":"<any>"}}
