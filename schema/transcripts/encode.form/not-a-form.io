// a form needs names
>> {"jsonrpc":"2.0","id":1,"method":"encode.form","params":{"parameters":{"a":{"$data":"?"}}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/parameters/a/$data","failure":{"code":1211,"kind":"parameterEncoderFailed","reason":"encoderFailed"}}}}
