// a handler that comes late gets its value from the bytes that came
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stored"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"stored","size":16,"contentType":"application/json","response":"<b>"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.serialize","params":{"response":"<b>","serialize":{"as":"text"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"body":{"kind":"text","size":16,"contentType":"application/json","text":"{\"id\":1,\"x\":0.1}","charset":"utf-8"}}}
