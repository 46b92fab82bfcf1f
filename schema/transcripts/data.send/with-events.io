// events of a call carry its id, and precede its answer
>> {"jsonrpc":"2.0","id":7,"method":"data.send","params":{"url":"{origin}/json","events":["response"],"tag":"mine"}}
<< {"jsonrpc":"2.0","method":"event.response","params":{"request":"<r>","call":7,"tag":"mine","seq":0,"status":200,"headers":"<any>","url":"{origin}/json","attempt":1}}
<< {"jsonrpc":"2.0","id":7,"result":{"ok":true,"request":"<r>","tag":"mine","...":"<any>"}}
