// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// Requests as descriptions of public APIs mean them.
@Suite struct OpenAPIImportTests {
    private static func parsed(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

    /// The router of a document with one operation `POST /a`, whose body has this content.
    private static func imported(_ content: String, schemas: String = "{}") throws -> OpenAPIImport.Outcome {
        try OpenAPIImport.router(
            from: try parsed(
                #"""
                {"openapi":"3.0.3","servers":[{"url":"http://x"}],"components":{"schemas":\#(schemas)},"paths":{"/a":
                {"post":{"operationId":"one","requestBody":{"content":\#(content)},"responses":{}}}}}
                """#))
    }

    private static func body(_ outcome: OpenAPIImport.Outcome, _ value: String) throws -> JSONValue? {
        try RouterRequest.build(
            outcome.router, try #require(outcome.router.endpoint("one")), params: ["body": try parsed(value)],
            overrides: [:])["body"]
    }

    @Test(arguments: [
        ("Wolves\\n", "Wolves"), ("", "api"), ("rtr_x", "api"), ("a\\tb\\u0001", "a b\\u{1}"),
        (String(repeating: "狼", count: 70), String(repeating: "狼", count: 42)),
    ])
    func `the name by the title of a document is one that clients may choose`(title: String, name: String) throws {
        let text = #"{"openapi":"3.0.3","info":{"title":"\#(title)"},"servers":[{"url":"http://x"}],"paths":{}}"#
        #expect(try OpenAPIImport.router(from: Self.parsed(text)).router.name == name)
    }

    @Test(arguments: [120, 121, 128, 129])
    func `a name that occurs again has at most 128 bytes with its number`(length: Int) throws {
        let operation = #"{"operationId":"\#(String(repeating: "n", count: length))"}"#
        let paths = (1...12).map { #""/\#(String(repeating: "狼", count: 50))/\#($0)":{"get":\#(operation)}"# }
        let text = #"{"openapi":"3.0.3","servers":[{"url":"http://x"}],"paths":{\#(paths.joined(separator: ","))}}"#
        let names = try OpenAPIImport.router(from: Self.parsed(text)).router.endpoints.map(\.name)
        #expect(Set(names).count == 12 && names.allSatisfy { $0.utf8.count <= 128 }, "\(names)")
    }

    @Test(arguments: [
        (#"{"name":"n"}"#, true), (#"{"id":1,"name":"n"}"#, true), (#"{"name":"n","id":"x"}"#, false), ("{}", false),
    ])
    func `members that only responses have are not required of a request`(body: String, fits: Bool) throws {
        let schemas = #"""
            {"U":{"allOf":[{"$ref":"#/components/schemas/B"}],"required":["id","made","name"],"properties":{
            "made":{"$ref":"#/components/schemas/D"},"name":{"type":"string"}}},"D":{"type":"string","readOnly":true},
            "B":{"type":"object","required":["id"],"properties":{"id":{"type":"integer","readOnly":true}}}}
            """#
        let outcome = try Self.imported(
            ##"{"application/json":{"schema":{"$ref":"#/components/schemas/U"}}}"##, schemas: schemas)
        #expect(outcome.notes.isEmpty)
        if fits { return #expect(try Self.body(outcome, body)?.object?["json"] == Self.parsed(body)) }
        #expect(throws: HTTPFailure.self) { try Self.body(outcome, body) }
    }

    @Test func `required members may stand beside the schema that says they are readOnly`() throws {
        let schemas = #"{"B":{"type":"object","properties":{"id":{"readOnly":true},"name":{"type":"string"}}}}"#
        let outcome = try Self.imported(
            ##"""
            {"application/json":{"schema":{"allOf":[{"$ref":"#/components/schemas/B"},{"required":["id","name"]}]}}}
            """##, schemas: schemas)
        #expect(try Self.body(outcome, #"{"name":"n"}"#) != nil)
        #expect(throws: HTTPFailure.self) { try Self.body(outcome, #"{"id":1}"#) }
    }

    @Test func `a parameter stays required though its schema is that of a readOnly member`() throws {
        let outcome = try OpenAPIImport.router(
            from: try Self.parsed(
                ##"""
                {"openapi":"3.1.0","servers":[{"url":"http://x"}],"components":{"schemas":{"I":{"readOnly":true}}},
                "paths":{"/a":{"get":{"operationId":"one","parameters":[{"name":"q","in":"query","required":true,
                "schema":{"$ref":"#/components/schemas/I"}}],"responses":{}}}}}
                """##))
        #expect(throws: HTTPFailure.self) {
            try RouterRequest.build(
                outcome.router, try #require(outcome.router.endpoint("one")), params: [:], overrides: [:])
        }
    }

    @Test(arguments: [
        (#","discriminator":{"propertyName":"kind"}"#, #"{"kind":"cat","lives":9}"#, true),
        (#","discriminator":{"propertyName":"kind"}"#, #"{"lives":9}"#, false),
        ("", #"{"kind":"cat","lives":9}"#, false),
    ])
    func `alternatives with a discriminator may overlap`(more: String, body: String, fits: Bool) throws {
        let schemas = #"""
            {"Cat":{"type":"object","required":["kind"],"properties":{"lives":{"type":"integer"}}},
            "Dog":{"type":"object","required":["kind"],"properties":{"bark":{"type":"boolean"}}}}
            """#
        let both = ##"[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}]"##
        let outcome = try Self.imported(
            #"{"application/json":{"schema":{"oneOf":\#(both)\#(more)}}}"#, schemas: schemas)
        if fits { return #expect(try Self.body(outcome, body) != nil) }
        #expect(throws: HTTPFailure.self) { try Self.body(outcome, body) }
    }

    @Test func `JSON comes before its other kinds`() throws {
        let outcome = try Self.imported(#"{"application/json-patch+json":{},"text/json":{},"Application/JSON":{}}"#)
        #expect(try Self.body(outcome, #"{"a":1}"#)?.object?["contentType"]?.string == "Application/JSON")
        #expect(outcome.notes.count == 1)
    }

    @Test(arguments: [
        ("", #"{"a":true,"b":2.0,"c":[false,1],"d":"x"}"#, #"{"a":"true","b":"2","c":["false","1"],"d":"x"}"#, 0),
        ("", #"[{"name":"a","value":true}]"#, #"[{"name":"a","value":"true"}]"#, 0),
        (#","encoding":{"c":{"style":"form","explode":true}}"#, #"{"c":[1]}"#, #"{"c":["1"]}"#, 0),
        (#","encoding":{"c":{"contentType":"application/json"}}"#, #"{"c":[1]}"#, #"{"c":["1"]}"#, 1),
        (
            #","encoding":{"m":{"style":"deepObject","explode":true}}"#, #"{"m":{"k":"v","i":[{"p":1}]},"e":["x"]}"#,
            #"[{"name":"m[k]","value":"v"},{"name":"m[i][0][p]","value":"1"},{"name":"e[]","value":["x"]}]"#, 0
        ),
        (
            #","encoding":{"m":{"style":"deepObject"},"e":{"explode":true}}"#, #"{"m":1}"#,
            #"[{"name":"m","value":"1"}]"#, 1
        ),
    ])
    func `fields of a form are texts, in brackets if the document says so`(
        encoding: String, value: String, form: String, notes: Int
    ) throws {
        let outcome = try Self.imported(
            #"{"application/x-www-form-urlencoded":{"schema":{}\#(encoding)}}"#)
        #expect(try Self.body(outcome, value)?.object?["form"] == Self.parsed(form))
        #expect(outcome.notes.count == notes)
    }

    @Test func `a form of parts is told as a list`() throws {
        let outcome = try Self.imported(#"{"multipart/form-data":{"schema":{"type":"object"}}}"#)
        #expect(outcome.notes.count == 1 && outcome.notes[0].message.contains("list of parts"))
        let parts = #"[{"name":"a","text":"b"}]"#
        #expect(try Self.body(outcome, parts)?.object?["multipart"] == Self.parsed(parts))
        let failure = #expect(throws: HTTPFailure.self) { try Self.body(outcome, #"{"a":"b"}"#) }
        #expect(failure?.message.contains("list of parts") == true && failure?.pointer == "/params/body")
    }

    @Test(arguments: [(#"{"text":"<a/>"}"#, "application/xml"), (#"{"text":"x","contentType":"text/x"}"#, "text/x")])
    func `a body of another kind has the type of the document`(body: String, type: String) throws {
        let outcome = try Self.imported(#"{"application/xml":{}}"#)
        #expect(try Self.body(outcome, body)?.object?["contentType"]?.string == type)
    }

    /// As tools write them that bundle several files.
    @Test func `references are read as fragments of URIs`() throws {
        let outcome = try OpenAPIImport.router(
            from: try Self.parsed(
                ##"""
                {"openapi":"3.0.3","servers":[{"url":"http://x"}],"paths":{
                "/a/{id}":{"get":{"operationId":"one","parameters":[{"name":"id","in":"path","required":true}]}},
                "/b/{id}":{"get":{"operationId":"two","parameters":[
                {"$ref":"#/paths/~1a~1%7Bid%7D/get/parameters/0"}]}}}}
                """##))
        #expect(outcome.notes.isEmpty && outcome.router.endpoint("two")?.path.names == ["id"])
    }

    @Test func `an operation with a body may be a GET`() throws {
        let outcome = try OpenAPIImport.router(
            from: try Self.parsed(
                #"""
                {"openapi":"3.0.3","servers":[{"url":"http://x"}],"paths":{"/_search":{"get":{"operationId":"one",
                "requestBody":{"content":{"application/json":{}}}}}}}
                """#))
        #expect(outcome.router.endpoint("one")?.options["allowGetBody"] == .bool(true))
    }

    @Test(arguments: [
        (["r": "us"], "http://us.x/v1", 0), (["r": "us", "s": "1"], "http://us.x/v1", 1), ([:], "http://{r}.x/v1", 1),
    ])
    func `names in braces of a server are filled, or told`(
        variables: [String: String], url: String, notes: Int
    ) throws {
        var options = OpenAPIImport.Options()
        options.variables = variables
        let outcome = try OpenAPIImport.router(
            from: try Self.parsed(
                #"""
                {"openapi":"3.0.3","paths":{},"servers":[{"url":"http://{r}.x/{v}","variables":{"v":{"default":"v1"}}}]}
                """#), options: options)
        #expect(outcome.router.baseURL.text == url && outcome.notes.count == notes)
    }
}
