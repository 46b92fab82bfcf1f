// this is no MCP server
>> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"<any>","data":"<any>"}}
