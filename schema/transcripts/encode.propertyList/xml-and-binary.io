// XML, tabs and line feeds as Apple writes them
>> {"jsonrpc":"2.0","id":1,"method":"encode.propertyList","params":{"parameters":{"name":"wolf","data":{"$data":"ZGF0YQ=="}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"text":"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n\t<key>name</key>\n\t<string>wolf</string>\n\t<key>data</key>\n\t<data>ZGF0YQ==</data>\n</dict>\n</plist>\n","contentType":"application/x-plist"}}
>> {"jsonrpc":"2.0","id":2,"method":"encode.propertyList","params":{"parameters":[true],"encoding":{"format":"binary"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"base64":"YnBsaXN0MDChAQkICgAAAAAAAAEBAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAL","contentType":"application/x-plist"}}
>> {"jsonrpc":"2.0","id":3,"method":"encode.propertyList","params":{"parameters":{"a":[1,null]}}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/parameters/a/1","failure":{"code":1211,"kind":"parameterEncoderFailed","reason":"encoderFailed"}}}}
