>> {"jsonrpc":"2.0","id":1,"method":"cache.put","params":{"url":"{origin}/page","headers":{"Cache-Control":"max-age=600"},"base64":"aGVsbG8=","tags":["manuals"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"url":"{origin}/page","status":200,"size":5,"age":0,"fresh":true,"forAll":true,"tags":["manuals"],"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"cache.read","params":{"url":"{origin}/page"}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"aGVsbG8=","size":5,"end":true}}
