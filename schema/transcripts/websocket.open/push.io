// messages come as events; a binary message is base64
>> {"jsonrpc":"2.0","id":1,"method":"websocket.open","params":{"url":"{origin}/websocket","mode":"push","credit":1000,"greeting":[{"json":{"op":"subscribe"}},{"base64":"AAEC"}],"json":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":{"ok":true,"status":101,"...":"<any>"}}}
<< {"jsonrpc":"2.0","method":"event.socket","params":{"stream":"<s>","seq":0,"kind":"open","attempt":1}}
<< {"jsonrpc":"2.0","method":"event.message","params":{"stream":"<s>","seq":1,"offset":0,"bytes":18,"value":{"op":"subscribe"}}}
<< {"jsonrpc":"2.0","method":"event.message","params":{"stream":"<s>","seq":2,"offset":18,"bytes":3,"base64":"AAEC"}}
>> {"jsonrpc":"2.0","id":2,"method":"websocket.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"code":1000,"clean":true}}
<< {"jsonrpc":"2.0","method":"event.end","params":{"stream":"<s>","seq":3,"size":21,"close":{"code":1000,"clean":true}}}
