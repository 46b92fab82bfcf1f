// the same as schema/openrpc.json
>> {"jsonrpc":"2.0","id":1,"method":"rpc.discover"}
<< {"jsonrpc":"2.0","id":1,"result":{"openrpc":"1.3.2","info":"<any>","methods":"<any>","...":"<any>"}}
