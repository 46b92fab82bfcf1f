// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// Parameters and authorization on their way into an attempt.
@Suite struct ParametersTests {
    private static func build(
        _ method: String, _ parameters: String?, _ encoding: ParameterEncoding = .form(FormOptions(), .methodDependent),
        url: String = "http://h/", _ change: (inout RequestSpec) -> Void = { _ in }
    ) throws -> Attempt {
        var spec = RequestSpec(url: url)
        spec.method = method
        if let parameters { spec.parameters = ParameterSpec(try json(parameters), encoding) }
        change(&spec)
        return try AttemptBuilder.build(spec, defaults: [])
    }

    private static func body(_ attempt: Attempt) -> String? {
        guard case .bytes(let bytes) = attempt.body else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let property = #"{"property":"property"}"#
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("DELETE", true), ("POST", false), ("PUT", false), ("PATCH", false),
        ("OPTIONS", false), ("QUERY", false), ("get", false),
    ])
    func `a form goes into the query or the body, by the method [C15] [3.B.1] [3.B.23]`(method: String, inQuery: Bool)
        throws
    {
        let attempt = try Self.build(method, #"{"foo":1,"bar":2}"#)
        #expect(attempt.url.target == (inQuery ? "/?bar=2&foo=1" : "/"))
        #expect(Self.body(attempt) == (inQuery ? nil : "bar=2&foo=1"))
        #expect(attempt.fields.first("Content-Type") == (inQuery ? nil : Self.formType))
    }

    @Test
    func `the destination can be said [3.B.3] [C24] [C16]`() throws {
        let attempt = try Self.build("POST", Self.property, .form(FormOptions(), .queryString))
        #expect(attempt.url.target == "/?property=property")
        #expect(attempt.body == .none)
        #expect(!attempt.fields.contains("Content-Type"))
        let delete = try Self.build("DELETE", Self.property, .form(FormOptions(), .httpBody))
        #expect(Self.body(delete) == "property=property")
    }

    @Test
    func `a Content-Type of the caller's stays [3.B.2] [3.B.7] [3.B.28] [C17]`() throws {
        for encoding in [ParameterEncoding.form(FormOptions(), .httpBody), .json(JSONOptions()), .propertyList(.xml)] {
            let attempt = try Self.build("POST", Self.property, encoding) {
                $0.fields = [.init("content-type", "type")]
            }
            #expect(attempt.fields.all("Content-Type") == ["type"])
        }
    }

    @Test
    func `JSON and property lists are bodies with their types [3.B.6] [C19] [C25]`() throws {
        let attempt = try Self.build("POST", Self.property, .json(JSONOptions()))
        #expect(Self.body(attempt) == Self.property)
        #expect(attempt.fields.first("Content-Type") == "application/json")
        let list = try Self.build("POST", Self.property, .propertyList(.binary))
        #expect(list.fields.first("Content-Type") == "application/x-plist")
        #expect(Self.body(list)?.hasPrefix("bplist00") == true)
    }

    @Test(arguments: [nil, "{}", "[]", #"{"a":null}"#])
    func `without parameters nothing changes [C20] [C14] [3.B.10] [3.B.11] [3.B.25]`(parameters: String?) throws {
        for method in ["GET", "POST"] {
            let attempt = try Self.build(method, parameters, url: "http://h/?a=b&")
            #expect(attempt.url.target == "/?a=b&")
            #expect(attempt.body == .none)
            #expect(attempt.fields.list.isEmpty)
        }
    }

    @Test
    func `the URL's own query comes first, then query, then parameters [3.B.12] [C16]`() throws {
        let attempt = try Self.build("GET", #"{"foo":"bar"}"#, url: "http://h/?baz=qux") {
            $0.query = ["a": .integer(1)]
        }
        #expect(attempt.url.target == "/?baz=qux&a=1&foo=bar")
    }

    @Test func `beside a body parameters go into the query, or nowhere`() throws {
        let withBody = { (spec: inout RequestSpec) in spec.body = BodySpec(.text("x", charset: "utf-8")) }
        let attempt = try Self.build("POST", #"{"a":1}"#, .form(FormOptions(), .methodDependent), withBody)
        #expect(attempt.url.target == "/?a=1")
        #expect(Self.body(attempt) == "x")
        for encoding in [ParameterEncoding.form(FormOptions(), .httpBody), .json(JSONOptions())] {
            let failure = #expect(throws: HTTPFailure.self) { try Self.build("POST", "{\"a\":1}", encoding, withBody) }
            #expect(failure?.kind == .createURLRequestFailed)
            #expect(failure?.pointer == "/parameters")
        }
    }

    @Test
    func `parameters as the body of a GET need permission [B10] [3.D.6]`() throws {
        for encoding in [ParameterEncoding.form(FormOptions(), .httpBody), .json(JSONOptions())] {
            let failure = #expect(throws: HTTPFailure.self) { try Self.build("GET", Self.property, encoding) }
            #expect(failure?.kind == .bodyDataInGETRequest)
            #expect(failure?.pointer == "/parameters")
            #expect(try Self.body(Self.build("GET", Self.property, encoding) { $0.allowGetBody = true }) != nil)
        }
    }

    @Test
    func `what cannot be encoded fails with its place [C12] [3.A.16] [3.A.17]`() throws {
        let cases: [(String, ParameterEncoding, HTTPFailure.Kind, String)] = [
            ("[1]", .form(FormOptions(), .methodDependent), .parameterEncoderFailed, "/parameters/0"),
            ("\"x\"", .form(FormOptions(), .methodDependent), .parameterEncoderFailed, "/parameters"),
            (#"{"a":{"$date":"x"}}"#, .json(JSONOptions()), .parameterEncodingFailed, "/parameters/a/$date"),
            ("[null]", .propertyList(.xml), .parameterEncoderFailed, "/parameters/0"),
        ]
        for (value, encoding, kind, pointer) in cases {
            let failure = #expect(throws: HTTPFailure.self) { try Self.build("POST", value, encoding) }
            #expect(failure?.kind == kind)
            #expect(failure?.pointer == pointer)
        }
    }

    @Test(arguments: [
        (Authorization.basic(username: "user", password: "password"), "Basic dXNlcjpwYXNzd29yZA=="),
        (.basic(username: "", password: "a:b\u{e9}"), "Basic OmE6YsOp"), (.bearer("abc"), "Bearer abc"),
        (.raw("Token x=1, y"), "Token x=1, y"),
    ])
    func `authorization has short forms [D4] [3.C.8] [3.C.9]`(authorization: Authorization, value: String) throws {
        let attempt = try Self.build("GET", nil) { $0.authorization = authorization }
        #expect(attempt.fields.all("Authorization") == [value])
        let own = try Self.build("GET", nil) { spec in
            spec.authorization = authorization
            spec.fields = [.init("authorization", "own")]
        }
        #expect(own.fields.all("Authorization") == ["own"])
        #expect(!CurlCommand(attempt).text.contains(value))
    }

    @Test(arguments: [
        (Authorization.basic(username: "a:b", password: ""), "/auth/basic/username"),
        (.basic(username: "a", password: "s3cret\n"), "/auth/basic/password"), (.bearer(""), "/auth/bearer"),
        (.bearer("s3cret\r\nX: y"), "/auth/bearer"),
        (.raw(""), "/auth/raw"),
        (.raw("s3cret\u{0}"), "/auth/raw"),
    ])
    func `a secret that cannot be sent is refused and not shown`(authorization: Authorization, pointer: String) throws {
        let failure = #expect(throws: HTTPFailure.self) {
            try Self.build("GET", nil) { $0.authorization = authorization }
        }
        #expect(failure?.kind == .createURLRequestFailed)
        #expect(failure?.pointer == pointer)
        #expect(failure?.message.contains("s3cret") == false)
    }
}
