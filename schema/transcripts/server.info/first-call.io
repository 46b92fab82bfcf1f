// a good first call, and a health check
>> {"jsonrpc":"2.0","id":1,"method":"server.info"}
<< {"jsonrpc":"2.0","id":1,"result":{"name":"outrider","protocol":1,"framing":"line","features":{"events":true,"...":"<any>"},"limits":{"messageBytes":16777216,"batchItems":100,"...":"<any>"},"...":"<any>"}}
