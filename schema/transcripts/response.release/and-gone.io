>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stored"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"stored","size":16,"contentType":"application/json","response":"<b>"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.release","params":{"response":"<b>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"response.read","params":{"response":"<b>"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/response"}}}
