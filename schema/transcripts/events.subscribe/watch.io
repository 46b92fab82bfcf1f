// the events of the client's requests, in order, after the reply that names the subscription
>> {"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["request.finished"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"subscription":"<s>","topics":["request.finished"]}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"url":"{origin}/json","tag":"mine"}}
<< {"jsonrpc":"2.0","id":2,"result":{"ok":true,"request":"<r>","...":"<any>"}}
<< {"jsonrpc":"2.0","method":"event.monitor","params":{"subscription":"<s>","seq":0,"topic":"request.finished","at":"<any>","request":"<r>","tag":"mine","detail":{"ok":true,"method":"GET","url":"{origin}/json","status":200,"attempts":1,"redirects":0,"bytes":"<any>","total":"<any>"}}}
// a topic that there is not
>> {"jsonrpc":"2.0","id":3,"method":"events.subscribe","params":{"topics":["request.*","request.finnished"]}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no topic is called request.finnished; did you mean request.finished?","data":{"pointer":"/topics/1","near":"<any>"}}}
