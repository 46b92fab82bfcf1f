// a server that publishes nothing
>> {"jsonrpc":"2.0","id":1,"method":"oauth.discover","params":{"issuer":"{origin}"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32018,"message":"<any>","data":{"failure":"<any>"}}}
// a resource that names no authorization server
>> {"jsonrpc":"2.0","id":3,"method":"oauth.discover","params":{"resource":"{origin}/api"}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32018,"message":"<any>","data":{"failure":"<any>"}}}
// a resource without https
>> {"jsonrpc":"2.0","id":2,"method":"oauth.discover","params":{"issuer":"http://login.example"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32018,"message":"\"http://login.example\" cannot be an issuer: it must begin with https://","data":{"failure":"<any>"}}}
