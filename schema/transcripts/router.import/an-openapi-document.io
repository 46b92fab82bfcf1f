// a document in YAML, and a request to its endpoint
>> {"jsonrpc":"2.0","id":1,"method":"router.import","params":{"from":{"text":"openapi: 3.1.0\ninfo: {title: Echo, version: '1'}\nservers: [{url: 'http://{host}/v1', variables: {host: {default: example.org}}}]\npaths:\n  /echo/{id}:\n    get:\n      operationId: echo\n      parameters:\n        - {name: id, in: path, required: true, schema: {type: integer}}\n        - {name: tag, in: query, schema: {type: array, items: {type: string}}}\n      responses: {'200': {description: ok}}\n"}}}
<< {"jsonrpc":"2.0","id":1,"result":{"router":"<router>","name":"Echo","baseUrl":"http://example.org/v1","endpoints":["echo"],"notes":[],"moreNotes":0}}
>> {"jsonrpc":"2.0","id":2,"method":"router.build","params":{"router":"Echo","endpoint":"echo","params":{"id":7,"tag":["a","b"]}}}
<< {"jsonrpc":"2.0","id":2,"result":{"method":"GET","url":"http://example.org/v1/echo/7?tag=a&tag=b","headers":"<any>","curl":"<any>"}}
>> {"jsonrpc":"2.0","id":3,"method":"router.build","params":{"router":"Echo","endpoint":"echo","params":{"id":"x"}}}
<< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"the parameters of echo do not fit: id must be an integer, not a string","data":{"pointer":"/params/id","failure":{"code":2102,"kind":"routerFailed","reason":"parametersDoNotFit"}}}}
// a document of another kind
>> {"jsonrpc":"2.0","id":4,"method":"router.import","params":{"from":{"text":"swagger: '2.0'"}}}
<< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"from.text.swagger must be OpenAPI 3.0 or 3.1, not Swagger 2.0: convert it first","data":{"pointer":"/from/text/swagger"}}}
