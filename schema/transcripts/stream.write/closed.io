>> {"jsonrpc":"2.0","id":1,"method":"upload.open","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","room":262144}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.close","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.write","params":{"stream":"<s>","text":"late"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"<any>","data":{"pointer":"/stream"}}}
