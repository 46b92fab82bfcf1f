>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/redirect/2","handles":false}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"url":"{origin}/json","status":200,"attempts":1,"redirects":[{"status":302,"from":"{origin}/redirect/2","url":"{origin}/redirect/1"},{"status":302,"from":"{origin}/redirect/1","url":"{origin}/json"}],"...":"<any>"}}
// or not
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/redirect/2","redirect":"none","handles":false}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"url":"{origin}/redirect/2","status":302,"redirects":[],"...":"<any>"}}
