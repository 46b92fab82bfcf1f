>> {"jsonrpc":"2.0","id":1,"method":"mime.match","params":{"type":"text/html; charset=utf-8","acceptable":["application/json","text/*"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"matches":true,"match":"text/*","type":"text","subtype":"html"}}
>> {"jsonrpc":"2.0","id":2,"method":"mime.match","params":{"type":"text","acceptable":["*/*"]}}
<< {"jsonrpc":"2.0","id":2,"result":{"matches":false}}
