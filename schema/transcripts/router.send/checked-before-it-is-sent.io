// parameters that do not fit are not sent
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"echo","baseUrl":"{origin}","endpoints":{"one":{"path":"/echo/{id}","params":{"type":"object","properties":{"page":{"type":"integer","minimum":1}}},"places":{"page":"query"}}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"echo","endpoints":["one"]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.send","params":{"router":"echo","endpoint":"one","params":{"id":7,"page":0}}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"the parameters of one do not fit: page must be at least 1","data":{"pointer":"/params/page","failure":{"code":2102,"kind":"routerFailed","reason":"parametersDoNotFit"}}}}
>> {"jsonrpc":"2.0","id":3,"method":"router.send","params":{"router":"echo","endpoint":"one"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"one needs id for its path /echo/{id}","data":{"pointer":"/params/id","failure":{"code":2101,"kind":"routerFailed","reason":"missingPathParameter"}}}}
>> {"jsonrpc":"2.0","id":4,"method":"router.send","params":{"router":"echo","endpoint":"on"}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"the router echo has no endpoint on: did you mean one?","data":{"pointer":"/endpoint","failure":{"code":2100,"kind":"routerFailed","reason":"unknownEndpoint"},"known":["one"]}}}
>> {"jsonrpc":"2.0","id":5,"method":"router.send","params":{"router":"echo","endpoint":"one","params":{"id":7},"overrides":{"handles":false,"bodyTo":"discard"}}}
<< {"jsonrpc":"2.0","id":5,"result":{"ok":true,"url":"{origin}/echo/7","status":200,"...":"<any>"}}
