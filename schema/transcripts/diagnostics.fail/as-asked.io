>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.fail","params":{"code":1600,"message":"as you wished","data":{"a":[1,{"b":null}]}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":1600,"message":"as you wished","data":{"a":[1,{"b":null}]}}}
