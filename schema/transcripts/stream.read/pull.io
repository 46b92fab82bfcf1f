// four bytes, read in two pieces
>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.stream","params":{"bytes":4}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","size":4,"chunkBytes":32768}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.read","params":{"stream":"<s>","bytes":3}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"YWJj","offset":0,"seq":0,"end":false}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.read","params":{"stream":"<s>","bytes":3}}
<< {"jsonrpc":"2.0","id":3,"result":{"base64":"ZA==","offset":3,"seq":1,"end":true}}
// the stream is gone
>> {"jsonrpc":"2.0","id":4,"method":"stream.read","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/stream"}}}
