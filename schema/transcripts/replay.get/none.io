// a session without a cassette says so
>> {"jsonrpc":"2.0","id":1,"method":"replay.get"}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32013,"message":"<any>","data":"<any>"}}
