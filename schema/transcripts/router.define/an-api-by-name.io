// define, build and send
>> {"jsonrpc":"2.0","id":1,"method":"router.define","params":{"name":"echo","baseUrl":"{origin}/","defaults":{"headers":{"X-App":"demo"}},"endpoints":{"one":{"method":"GET","path":"/echo/{id}","params":{"type":"object","properties":{"page":{"type":"integer","minimum":1}}},"places":{"page":"query"},"paramDefaults":{"page":1}}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"echo","endpoints":["one"]}}
>> {"jsonrpc":"2.0","id":2,"method":"router.build","params":{"router":"<router>","endpoint":"one","params":{"id":"a/b"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"method":"GET","url":"{origin}/echo/a%2Fb?page=1","headers":"<any>","curl":"<any>"}}
// a path with an open brace is refused
>> {"jsonrpc":"2.0","id":3,"method":"router.define","params":{"name":"bad","baseUrl":"{origin}","endpoints":{"one":{"path":"/echo/{id"}}}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"endpoints.one.path has a brace without its other half: write {name}","data":{"pointer":"/endpoints/one/path"}}}
