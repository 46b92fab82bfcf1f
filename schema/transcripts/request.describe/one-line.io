// the method, the URL, and the status once known
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/status/404?token=secret"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"request":"<r>","...":"<any>"}}
>> {"jsonrpc":"2.0","id":2,"method":"request.describe","params":{"request":"<r>","style":"short"}}
<< {"jsonrpc":"2.0","id":2,"result":{"text":"GET {origin}/status/404?token=*** (404)"}}
