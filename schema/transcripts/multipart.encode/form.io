// the bytes that would be sent
>> {"jsonrpc":"2.0","id":1,"method":"multipart.encode","params":{"boundary":"b","parts":[{"name":"data","text":"Lorem ipsum dolor sit amet."}]}}
<< {"jsonrpc":"2.0","id":1,"result":{"contentType":"multipart/form-data; boundary=b","boundary":"b","size":88,"contentLength":27,"base64":"LS1iDQpDb250ZW50LURpc3Bvc2l0aW9uOiBmb3JtLWRhdGE7IG5hbWU9ImRhdGEiDQoNCkxvcmVtIGlwc3VtIGRvbG9yIHNpdCBhbWV0Lg0KLS1iLS0NCg=="}}
