>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"session.update","params":{"session":"<s>","limits":{"concurrent":1,"rate":{"requests":10}}}}
<< {"jsonrpc":"2.0","id":2,"result":{"session":"<s>","limits":{"concurrent":1,"rate":{"requests":10,"seconds":1.0},"waiting":10000},"...":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"session.update","params":{"session":"default","timeout":5}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32014,"message":"<any>","data":{"pointer":"/session"}}}
