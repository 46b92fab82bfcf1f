// finishing is harmless when repeated; writing is over
>> {"jsonrpc":"2.0","id":1,"method":"upload.open","params":{}}
<< {"jsonrpc":"2.0","id":1,"result":{"stream":"<s>","room":262144}}
>> {"jsonrpc":"2.0","id":2,"method":"stream.finish","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":2,"result":{"size":0}}
>> {"jsonrpc":"2.0","id":3,"method":"stream.finish","params":{"stream":"<s>"}}
<< {"jsonrpc":"2.0","id":3,"result":{"size":0}}
>> {"jsonrpc":"2.0","id":4,"method":"stream.write","params":{"stream":"<s>","text":"late"}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32013,"message":"the stream has been finished","data":{"pointer":"/stream","state":"closed"}}}
