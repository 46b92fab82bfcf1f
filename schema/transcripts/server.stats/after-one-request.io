>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"server.stats"}
<< {"jsonrpc":"2.0","id":2,"result":{"connections":"<any>","loops":"<any>","calls":{"running":"<any>","total":"<any>"},"requests":"<any>","pool":"<any>","bytes":"<any>","events":"<any>","callbacks":"<any>","log":"<any>","memory":"<any>"}}
