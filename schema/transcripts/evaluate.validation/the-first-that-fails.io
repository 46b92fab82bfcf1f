// several rules are judged in order
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.validation","params":{"response":{"status":200,"headers":{"Content-Type":"application/xml"},"body":{"text":"<x/>"}},"validate":[{"contentType":["application/octet-stream"]},{"status":["400..<600"]}]}}
<< {"jsonrpc":"2.0","id":1,"result":{"valid":false,"error":{"code":1601,"kind":"responseValidationFailed","reason":"unacceptableContentType","message":"<any>","retryable":false,"data":{"acceptable":["application/octet-stream"],"contentType":"application/xml"}}}}
>> {"jsonrpc":"2.0","id":2,"method":"evaluate.validation","params":{"response":{"status":204},"validate":{"contentType":[]}}}
<< {"jsonrpc":"2.0","id":2,"result":{"valid":true}}
