// the query that the URL has comes first
>> {"jsonrpc":"2.0","id":1,"method":"encode.query","params":{"parameters":{"q":"a b"},"url":"http://example.org/?page=2"}}
<< {"jsonrpc":"2.0","id":1,"result":{"query":"q=a%20b","url":"http://example.org/?page=2&q=a%20b"}}
// names may repeat and interleave in a list
>> {"jsonrpc":"2.0","id":2,"method":"encode.query","params":{"parameters":[{"name":"b","value":1},{"name":"a","value":2},{"name":"b","value":3}]}}
<< {"jsonrpc":"2.0","id":2,"result":{"query":"b=1&a=2&b=3"}}
