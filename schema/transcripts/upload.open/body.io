// a body that the client gives piece by piece
>> {"jsonrpc":"2.0","id":1,"method":"upload.open","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","room":262144}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.write","params":{"stream":"<s>","text":"hello, "}}
<< {"jsonrpc":"2.0","id":2,"result":{"accepted":7,"room":262137}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.write","params":{"stream":"<s>","base64":"d29ybGQ="}}
<< {"jsonrpc":"2.0","id":3,"result":{"accepted":5,"room":262132}}
>> {"jsonrpc":"2.0","id":4,"method":"stream.finish","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":4,"result":{"size":12}}
>> {"jsonrpc":"2.0","id":5,"method":"upload.send","params":{"url":"{origin}/echo","body":{"stream":"<s>","contentType":"text/plain"},"handles":false}}
<< {"jsonrpc":"2.0","id":5,"result":{"ok":true,"url":"{origin}/echo","method":"POST","status":200,"httpVersion":"1.1","headers":"<any>","body":"<any>","attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}
