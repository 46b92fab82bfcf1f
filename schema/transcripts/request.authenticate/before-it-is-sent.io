>> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/basic-auth/ada/s3cret","startImmediately":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.authenticate","params":{"request":"<r>","username":"ada","password":"s3cret"}}
<< {"jsonrpc":"2.0","id":2,"result":{"persistence":"none"}}
>> {"jsonrpc":"2.0","id":3,"method":"request.resume","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"state":"<any>"}}
>> {"jsonrpc":"2.0","id":4,"method":"request.wait","params":{"request":"<r>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"ok":true,"status":200,"...":"<any>"}}
// the request has ended, and sends no more credentials
>> {"jsonrpc":"2.0","id":5,"method":"request.authenticate","params":{"request":"<r>","username":"ada","password":"s3cret"}}
<< {"jsonrpc":"2.0","id":5,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/request","state":"ended"}}}
