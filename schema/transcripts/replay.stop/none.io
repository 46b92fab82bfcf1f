// there is nothing to stop
>> {"jsonrpc":"2.0","id":1,"method":"replay.stop"}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32013,"message":"<any>","data":"<any>"}}
