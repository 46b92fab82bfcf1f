>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stored"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"stored","size":16,"contentType":"application/json","response":"<b>"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.save","params":{"response":"<b>","path":"{tmp}/outrider-transcript.json","replace":true}}
<< {"jsonrpc":"2.0","id":2,"result":{"path":"{tmp}/outrider-transcript.json","size":16}}
// an existing file is overwritten only with replace
>> {"jsonrpc":"2.0","id":3,"method":"response.save","params":{"response":"<b>","path":"{tmp}/outrider-transcript.json"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/path","...":"<any>"}}}
