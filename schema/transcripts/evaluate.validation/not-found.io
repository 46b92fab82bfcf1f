// true wants a status of 200 to 299, and a Content-Type that the request accepts
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.validation","params":{"response":{"status":404,"url":"https://example.org/x?key=1"},"validate":true}}
<< {"jsonrpc":"2.0","id":1,"result":{"valid":false,"error":{"code":1600,"kind":"responseValidationFailed","reason":"unacceptableStatusCode","message":"Response status code was unacceptable: 404 (GET https://example.org/x)","retryable":false,"data":{"status":404}}}}
