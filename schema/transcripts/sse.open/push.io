// events as they come; when they end, the stream goes on from the last id, until the server says that there is no more
>> {"jsonrpc":"2.0","id":1,"method":"sse.open","params":{"url":"{origin}/events/3","mode":"push","credit":1000,"json":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>"}}
<< {"jsonrpc":"2.0","method":"event.sse","params":{"stream":"<s>","seq":0,"offset":0,"bytes":44,"event":"tick","data":"{\"n\":1}","id":"1","retry":0.1,"value":{"n":1}}}
<< {"jsonrpc":"2.0","method":"event.sse","params":{"stream":"<s>","seq":1,"offset":44,"bytes":33,"event":"tick","data":"{\"n\":2}","id":"2","value":{"n":2}}}
<< {"jsonrpc":"2.0","method":"event.sse","params":{"stream":"<s>","seq":2,"offset":77,"bytes":44,"event":"tick","data":"{\"n\":3}","id":"3","retry":0.1,"value":{"n":3}}}
<< {"jsonrpc":"2.0","method":"event.end","params":{"stream":"<s>","seq":3,"size":121,"error":{"code":2012,"kind":"eventStreamFailed","reason":"retryRefused","message":"<any>","retryable":false,"data":{"status":204}}}}
