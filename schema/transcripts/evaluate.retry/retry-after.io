// a longer Retry-After counts
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.retry","params":{"retry":{"statuses":[429]},"status":429,"headers":{"Retry-After":"7"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"retry":true,"delay":7}}
