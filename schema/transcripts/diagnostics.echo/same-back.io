// numbers, nulls and the order of members survive
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.echo","params":{"b":0.1,"a":[1,null,true],"text":"\u00e9"}}
<< {"jsonrpc":"2.0","id":1,"result":{"b":0.1,"a":[1,null,true],"text":"\u00e9"}}
// no parameters, `null` and `[]` are all `{}`
>> {"jsonrpc":"2.0","id":2,"method":"diagnostics.echo"}
>> {"jsonrpc":"2.0","id":3,"method":"diagnostics.echo","params":null}
>> {"jsonrpc":"2.0","id":4,"method":"diagnostics.echo","params":[]}
<< {"jsonrpc":"2.0","id":2,"result":{}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
<< {"jsonrpc":"2.0","id":4,"result":{}}
