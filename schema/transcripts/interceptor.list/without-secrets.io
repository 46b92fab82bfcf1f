>> {"jsonrpc":"2.0","id":1,"method":"interceptor.create","params":{"label":"mine","interceptor":{"bearer":"t0ken"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"interceptor":"<i>"}}
>> {"jsonrpc":"2.0","id":2,"method":"interceptor.list","params":{}}
<< {"jsonrpc":"2.0","id":2,"result":{"interceptors":[{"interceptor":"<i>","kind":"bearer","label":"mine"}]}}
