// an answer that is refused is not delivered: its body stands in the response
>> {"jsonrpc":"2.0","id":1,"method":"stream.open","params":{"url":"{origin}/status/404","validate":true,"wait":"response"}}
<< {"jsonrpc":"2.0","id":1,"result":{"request":"<r>","stream":"<s>","response":{"ok":false,"request":"<r>","url":"{origin}/status/404","method":"GET","status":404,"httpVersion":"1.1","headers":"<any>","body":"<any>","error":{"code":1600,"kind":"responseValidationFailed","reason":"unacceptableStatusCode","message":"<any>","retryable":false,"data":{"status":404}},"attempts":1,"redirects":[],"cache":{"status":"bypass"},"...":"<any>"}}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"","offset":0,"seq":0,"end":true,"error":{"code":1600,"kind":"responseValidationFailed","reason":"unacceptableStatusCode","message":"<any>","retryable":false,"data":{"status":404}}}}
