// the client's own code supplies a password, which the session keeps
>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","challenge":{"callback":"prompt"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/digest-auth/ada/s3cret","session":"api"}}
<< {"jsonrpc":"2.0","id":"<q>","method":"callback.challenge","params":{"callback":"prompt","request":"<r>","session":"api","attempt":1,"method":"GET","offers":[{"scheme":"digest","realm":"origin","algorithm":"SHA-256"}],"failures":0,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":"<q>","result":{"credential":{"username":"ada","password":"s3cret"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"status":200,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"data.send","params":{"url":"{origin}/digest-auth/ada/s3cret","session":"api"}}
<< {"jsonrpc":"2.0","id":3,"result":{"ok":true,"status":200,"...":"<any>"}}
