// a feature that this version does not have
>> {"jsonrpc":"2.0","id":1,"method":"server.hello","params":{"require":["timeTravel"]}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32015,"message":"<any>","data":{"pointer":"/require/0","feature":"timeTravel"}}}
