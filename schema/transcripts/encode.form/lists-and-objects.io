// sorted, lists with brackets, names inside others in brackets, all escaped
>> {"jsonrpc":"2.0","id":1,"method":"encode.form","params":{"parameters":{"name":"wolf","tags":["a","b"],"home":{"forest":true}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"text":"home%5Bforest%5D=1&name=wolf&tags%5B%5D=a&tags%5B%5D=b","contentType":"application/x-www-form-urlencoded; charset=utf-8"}}
// every choice is an option
>> {"jsonrpc":"2.0","id":2,"method":"encode.form","params":{"parameters":{"name":"wolf","tags":["a","b"],"home":{"forest":true}},"encoding":{"array":"noBrackets","keyPath":"dots","bool":"literal","sort":false}}}
<< {"jsonrpc":"2.0","id":2,"result":{"text":"name=wolf&tags=a&tags=b&home.forest=true","contentType":"application/x-www-form-urlencoded; charset=utf-8"}}
