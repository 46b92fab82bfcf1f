>> {"jsonrpc":"2.0","id":1,"method":"cache.configure","params":{"maxBytes":1048576}}
<< {"jsonrpc":"2.0","id":1,"result":{"maxBytes":1048576,"maxEntryBytes":52428,"...":"<any>"}}
