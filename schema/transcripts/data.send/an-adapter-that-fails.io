>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","interceptors":[{"callback":"sign"}],"handles":false}}
<< {"jsonrpc":"2.0","id":"<question>","method":"callback.adapt","params":"<any>"}
>> {"jsonrpc":"2.0","id":"<question>","error":{"code":1,"message":"no key"}}
<< {"jsonrpc":"2.0","id":"<retry>","method":"callback.retry","params":"<any>"}
>> {"jsonrpc":"2.0","id":"<retry>","result":{"retry":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"error":{"code":1300,"kind":"requestAdaptationFailed","...":"<any>"},"attempts":0,"...":"<any>"}}
