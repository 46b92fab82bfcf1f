// a session without cookies has no jar, and the default session never has a jar
>> {"jsonrpc":"2.0","id":1,"method":"cookies.list","params":{"session":"default"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32013,"message":"<any>","data":{"pointer":"/session","state":"noCookies"}}}
>> {"jsonrpc":"2.0","id":2,"method":"cookies.list","params":{"jar":"../x"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/jar"}}}
