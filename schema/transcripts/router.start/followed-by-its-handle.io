// start, then wait
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"echo","baseUrl":"{origin}","endpoints":{"one":{"path":"/echo"}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"echo","endpoints":["one"]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.start","params":{"router":"<router>","endpoint":"one"}}
<< {"jsonrpc":"2.0","id":2,"result":{"request":"<request>"}}
