// members keep their order, numbers their form
>> {"jsonrpc":"2.0","id":1,"method":"encode.json","params":{"parameters":{"b":1,"a":[true,null,"\u00e9"]}}}
<< {"jsonrpc":"2.0","id":1,"result":{"text":"{\"b\":1,\"a\":[true,null,\"\u00e9\"]}","contentType":"application/json"}}
>> {"jsonrpc":"2.0","id":2,"method":"encode.json","params":{"parameters":{"b":1,"a":{}},"encoding":{"pretty":true,"sortKeys":true}}}
<< {"jsonrpc":"2.0","id":2,"result":{"text":"{\n  \"a\": {},\n  \"b\": 1\n}","contentType":"application/json"}}
