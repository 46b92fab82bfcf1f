// from now on this client may be asked callback.passphrase
>> {"jsonrpc":"2.0","id":1,"method":"oauth.offerPassphrase","params":{"callback":"mine","timeout":120}}
<< {"jsonrpc":"2.0","id":1,"result":{}}
// and now no longer
>> {"jsonrpc":"2.0","id":2,"method":"oauth.offerPassphrase","params":{}}
<< {"jsonrpc":"2.0","id":2,"result":{}}
>> {"jsonrpc":"2.0","id":3,"method":"oauth.offerPassphrase","params":{"callback":"mine","timeout":0}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"<any>","data":{"pointer":"/timeout"}}}
