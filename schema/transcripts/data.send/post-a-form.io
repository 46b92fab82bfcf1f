// the server receives an encoded query, and the form as body
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"{origin}/echo","method":"POST","query":{"page":2,"q":"a b"},"body":{"form":{"name":"wolf","tag":["a","b"]}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"status":200,"url":"{origin}/echo?page=2&q=a%20b","body":{"kind":"json","json":{"method":"POST","target":"/echo?page=2&q=a%20b","headers":"<any>","body":"name=wolf&tag=a&tag=b"},"...":"<any>"},"...":"<any>"}}
