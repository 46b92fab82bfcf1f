// tagged values, for values without a form in JSON
>> {"jsonrpc":"2.0","id":1,"method":"encode.form","params":{"parameters":{"born":{"$date":978307323.456},"key":{"$data":"ZGF0YQ=="},"price":{"$decimal":"1.0"}}}}
<< {"jsonrpc":"2.0","id":1,"result":{"text":"born=2001-01-01T00%3A02%3A03Z&key=ZGF0YQ%3D%3D&price=1","contentType":"application/x-www-form-urlencoded; charset=utf-8"}}
>> {"jsonrpc":"2.0","id":2,"method":"encode.form","params":{"parameters":{"born":{"$date":"2001-01-01T00:02:03.456Z"}},"encoding":{"date":"milliseconds"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"text":"born=978307323456.0","contentType":"application/x-www-form-urlencoded; charset=utf-8"}}
