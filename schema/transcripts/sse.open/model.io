// a model that streams its answer to a POST; events with data only are strings
>> {"jsonrpc":"2.0","id":1,"method":"sse.open","params":{"url":"{origin}/chat","body":{"json":{"stream":true,"messages":[{"role":"user","content":"Hi"}]}},"compact":true,"wait":"response"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":{"ok":true,"request":"<r>","url":"{origin}/chat","method":"POST","status":200,"httpVersion":"1.1","headers":"<any>","body":{"kind":"none","size":0},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>","items":1}}
<< {"jsonrpc":"2.0","id":2,"result":{"values":["{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"You\"}}]}"],"offset":0,"bytes":59,"seq":0,"end":false}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"result":{}}
