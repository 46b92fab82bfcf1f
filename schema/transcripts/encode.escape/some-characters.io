>> {"jsonrpc":"2.0","id":1,"method":"encode.escape","params":{"text":"a b&c=d/\u00e9"}}
<< {"jsonrpc":"2.0","id":1,"result":{"text":"a%20b%26c%3Dd/%C3%A9"}}
>> {"jsonrpc":"2.0","id":2,"method":"encode.escape","params":{"text":"a b+c[]","space":"plus","allowedCharacters":"[]"}}
<< {"jsonrpc":"2.0","id":2,"result":{"text":"a+b%2Bc[]"}}
