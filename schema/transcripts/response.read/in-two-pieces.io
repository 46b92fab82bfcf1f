>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","bodyTo":"stored"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"stored","size":16,"contentType":"application/json","response":"<b>"},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"response.read","params":{"response":"<b>","bytes":6}}
>> {"jsonrpc":"2.0","id":3,"method":"response.read","params":{"response":"<b>","offset":6}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"eyJpZCI6","offset":0,"end":false,"size":16}}
<< {"jsonrpc":"2.0","id":3,"result":{"base64":"MSwieCI6MC4xfQ==","offset":6,"end":true,"size":16}}
