// optional: calls work without a greeting
>> {"jsonrpc":"2.0","id":1,"method":"server.hello","params":{"client":{"name":"my-editor","version":"1.0"},"protocol":1,"require":["events"]}}
<< {"jsonrpc":"2.0","id":1,"result":{"server":{"name":"outrider","version":"<any>"},"protocol":1,"protocols":[1],"features":{"events":true,"...":"<any>"},"limits":{"chunkBytes":32768,"...":"<any>"},"connection":"<c>"}}
