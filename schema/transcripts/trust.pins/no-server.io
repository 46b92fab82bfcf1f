// there is no server
>> {"jsonrpc": "2.0", "id": 1, "method": "trust.pins", "params": {"url": "https://127.0.0.1:1/"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"trusted": false, "error": "<error>", "publicKeys": {"pins": []}, "subjects": []}}
