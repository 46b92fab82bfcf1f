>> {"jsonrpc":"2.0","id":1,"method":"session.create","params":{"name":"api","headers":{"Authorization":"Bearer t0ken"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"session":"<s>"}}
>> {"jsonrpc":"2.0","id":2,"method":"session.list","params":{}}
<< {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"session":"default","...":"<any>"},{"session":"<s>","name":"api","headers":[{"name":"Authorization","value":"***"}],"...":"<any>"}]}}
