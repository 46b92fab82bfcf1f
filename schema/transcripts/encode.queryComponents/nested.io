>> {"jsonrpc":"2.0","id":1,"method":"encode.queryComponents","params":{"name":"foo","value":{"bar":[1,2]}}}
<< {"jsonrpc":"2.0","id":1,"result":{"components":[{"name":"foo%5Bbar%5D%5B%5D","value":"1"},{"name":"foo%5Bbar%5D%5B%5D","value":"2"}]}}
