// the latest requests of this connection, with masked secrets
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/json","headers":{"Authorization":"Bearer secret"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"request":"<r>","...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"har.export","params":{"recent":1,"bodies":true}}
<< {"jsonrpc":"2.0","id":2,"result":{"entries":1,"har":{"log":{"version":"1.2","creator":"<any>","entries":"<any>"}}}}
