// half a second, a second, and no more
>> {"jsonrpc":"2.0","id":1,"method":"evaluate.retry","params":{"error":"connectionLost"}}
<< {"jsonrpc":"2.0","id":1,"result":{"retry":true,"delay":0.5}}
>> {"jsonrpc":"2.0","id":2,"method":"evaluate.retry","params":{"error":"connectionLost","retries":1}}
<< {"jsonrpc":"2.0","id":2,"result":{"retry":true,"delay":1}}
>> {"jsonrpc":"2.0","id":3,"method":"evaluate.retry","params":{"error":"connectionLost","retries":2}}
<< {"jsonrpc":"2.0","id":3,"result":{"retry":false}}
// a POST may have been carried out
>> {"jsonrpc":"2.0","id":4,"method":"evaluate.retry","params":{"error":"connectionLost","method":"POST"}}
<< {"jsonrpc":"2.0","id":4,"result":{"retry":false}}
