// a URL that cannot be used is a result, too
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"http://127.0.0.1:99999/"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"request":"<r>","url":"http://127.0.0.1:99999/","method":"GET","body":{"kind":"none","size":0},"error":{"code":1100,"kind":"invalidURL","message":"<any>","retryable":false,"pointer":"/url"},"attempts":0,"redirects":[],"cache":{"status":"bypass"}}}
