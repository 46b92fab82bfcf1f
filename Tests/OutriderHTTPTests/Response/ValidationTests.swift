// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct ValidationTests {
    private static func facts(
        _ status: Int?, _ type: String? = nil, accept: [String]? = nil, method: String = "GET"
    ) -> ResponseFacts {
        ResponseFacts(
            method: method, url: "https://user:pw@example.org/x?key=secret#f", accept: accept, status: status,
            fields: type.map { [HTTPFields.Field("Content-Type", $0)] }.map(HTTPFields.init) ?? [])
    }

    private static func type(_ list: String...) -> ValidationRule { ValidationRule(contentType: .list(list)) }

    private static let octets = "application/octet-stream"

    struct Case: Sendable, CustomTestStringConvertible {
        var rules: [ValidationRule]
        var facts: ResponseFacts
        var body = "x"
        var kind: HTTPFailure.Kind?
        var label: String
        var testDescription: String { label }
    }

    static let cases: [Case] = [
        Case(rules: [ValidationRule(status: .successful)], facts: facts(200), label: "200 in 200 to 299 [3.G.1]"),
        Case(
            rules: [ValidationRule(status: StatusRanges([200...200]))], facts: facts(404),
            kind: .unacceptableStatusCode, label: "404 where 200 is wanted [3.G.2]"),
        Case(
            rules: [ValidationRule(status: StatusRanges([]))], facts: facts(201), kind: .unacceptableStatusCode,
            label: "the empty list accepts none [3.G.3] [I3]"),
        Case(
            rules: [type("application/json")], facts: facts(200, "application/json"), label: "the type itself [3.G.4]"),
        Case(
            rules: [type("application/json; charset=utf-8")], facts: facts(200, "application/json"),
            label: "a parameter on one side [3.G.4] [I4]"),
        Case(
            rules: [type("application/json; q=0.8; charset=utf-8")],
            facts: facts(200, "application/json; charset=latin1"), label: "parameters on both [3.G.4] [I4]"),
        Case(rules: [type("*/*")], facts: facts(200, "application/json"), label: "*/* [3.G.5] [I7]"),
        Case(
            rules: [type("application/*")], facts: facts(200, "application/json"), label: "application/* [3.G.5] [I7]"),
        Case(rules: [type("*/json")], facts: facts(200, "application/json"), label: "*/json [3.G.5] [I7]"),
        Case(
            rules: [type("APPLICATION/Json")], facts: facts(200, "Application/JSON"), label: "case does not matter [I7]"
        ),
        Case(
            rules: [type("application/json")], facts: facts(200, "*/*"), kind: .unacceptableContentType,
            label: "wildcards are for the accepting side [I7]"),
        Case(
            rules: [type(octets)], facts: facts(200, "application/xml"), kind: .unacceptableContentType,
            label: "another type [3.G.6] [I10]"),
        Case(rules: [type()], facts: facts(204), body: "", label: "no body has every type [3.G.9] [I8]"),
        Case(
            rules: [type()], facts: facts(200, "text/plain"), kind: .unacceptableContentType,
            label: "an empty list accepts no type"),
        Case(
            rules: [ValidationRule(status: StatusRanges([400...599])), type(octets)],
            facts: facts(200, "application/xml"), kind: .unacceptableStatusCode, label: "status first [3.G.11] [I12]"),
        Case(
            rules: [type(octets), ValidationRule(status: StatusRanges([400...599]))],
            facts: facts(200, "application/xml"), kind: .unacceptableContentType, label: "type first [3.G.12] [I12]"),
        Case(
            rules: Validation.standard.rules, facts: facts(200, "application/json", accept: ["application/json"]),
            label: "the Accept of the request [3.G.13] [I2] [I5]"),
        Case(
            rules: Validation.standard.rules, facts: facts(200, "text/html", accept: ["application/json"]),
            kind: .unacceptableContentType, label: "not what the request accepts [I5]"),
        Case(
            rules: Validation.standard.rules, facts: facts(404), kind: .unacceptableStatusCode,
            label: "plain validation refuses 404 [3.G.14] [I2]"),
        Case(rules: Validation.standard.rules, facts: facts(200), label: "without Accept, no type is needed [I5] [I9]"),
        Case(
            rules: Validation.standard.rules,
            facts: facts(
                200, "application/xml",
                accept: [
                    "text/xml, application/xml, application/xhtml+xml, text/html;q=0.9, text/plain;q=0.8,*/*;q=0.5"
                ]), label: "the Accept of a browser [3.G.16]"),
        Case(
            rules: Validation.standard.rules, facts: facts(200, "text/b", accept: ["text/a", "text/b"]),
            label: "Accept in two fields"),
        Case(
            rules: Validation.standard.rules,
            facts: facts(200, "text/html", accept: ["text/*, text/html;q=0.0, application/json"]),
            kind: .unacceptableContentType, label: "a weight of 0 refuses, although text/* is wanted"),
        Case(
            rules: Validation.standard.rules, facts: facts(200, "text/plain", accept: ["text/*;q=0.1, text/html;q=0"]),
            label: "a weight of 0 for another type"),
        Case(
            rules: [type("text/plain")], facts: facts(200), kind: .missingContentType,
            label: "a body without a type [I9]"),
        Case(
            rules: [type("text/plain")], facts: facts(200, "nonsense"), kind: .missingContentType,
            label: "a type that is none counts as missing [I6] [I9]"),
        Case(rules: [type("text/plain", "*/*")], facts: facts(200), label: "unless anything goes [I9]"),
        Case(rules: [type("text/*")], facts: facts(200, "text/html"), label: "text/* takes text/html [3.G.26]"),
        Case(
            rules: [type("text/*")], facts: facts(200, "application/json"), kind: .unacceptableContentType,
            label: "and not application/json [3.G.26]"),
        Case(rules: [type("*/json")], facts: facts(200, "application/json"), label: "*/json [3.G.27]"),
        Case(
            rules: [type("text/plain")], facts: facts(200, "text/html"), kind: .unacceptableContentType,
            label: "text/plain does not take text/html [3.G.28]"),
        Case(rules: [ValidationRule(status: .successful)], facts: facts(nil), label: "no response is not judged [I12]"),
        Case(rules: [], facts: facts(500), label: "no rules, no failure [I1]"),
    ]

    @Test(arguments: cases)
    func `rules in order, the first that fails counts`(one: Case) {
        let failure = Validation(one.rules).fault(one.facts, Array(one.body.utf8))
        #expect(failure?.kind == one.kind)
    }

    @Test(arguments: [
        ("text/plain", "text", "plain"), ("application/json", "application", "json"), ("image/png", "image", "png"),
        ("*/*", "*", "*"), ("text/*", "text", "*"), ("*/json", "*", "json"), ("  text/plain  ", "text", "plain"),
        ("\ttext/plain ;q=1", "text", "plain"),
    ])
    func `a media type has two parts, and space around it does not matter [3.G.22] [3.G.24] [I6]`(
        text: String, type: String, subtype: String
    ) {
        let found = AcceptableTypes.type(text)
        #expect(found?.type == type)
        #expect(found?.subtype == subtype)
    }

    @Test(arguments: ["text", "", "/", "text/", "/plain", "a/b/c", "te xt/plain", "text/plain x"])
    func `what has not two parts is no media type [I6]`(text: String) {
        #expect(AcceptableTypes.type(text) == nil)
    }

    @Test func `failures tell the story, and name no secrets [3.G.2] [3.G.6] [I10]`() {
        let status = Validation.standard.fault(Self.facts(404), [])
        #expect(status?.message == "Response status code was unacceptable: 404 (GET https://example.org/x)")
        #expect(status?.details == [.status(404)])
        let rule = Self.type("text/b", "text/a")
        let type = rule.fault(Self.facts(200, "application/xml; charset=utf-8"), isEmpty: false)
        #expect(type?.details == [.acceptable(["text/a", "text/b"]), .contentType("application/xml")])
        #expect(
            type?.message
                == "Response Content-Type was unacceptable: application/xml, not text/a, text/b (GET https://example.org/x)"
        )
        #expect(rule.fault(Self.facts(200), isEmpty: false)?.details == [.acceptable(["text/a", "text/b"])])
    }

    @Test(
        arguments: [
            (503, "GET", true), (429, "PUT", true), (500, "DELETE", true), (408, "HEAD", true), (503, "POST", false),
            (404, "GET", false), (501, "GET", false),
        ])
    func `what a server may do better later, and what may be sent twice, is worth repeating`(
        status: Int, method: String, isRetryable: Bool
    ) {
        let failure = Validation.standard.fault(Self.facts(status, method: method), [])
        #expect(failure?.retryable == isRetryable)
    }

    @Test func `a schema that the body does not fit says where [H7]`() throws {
        let schema = try JSONSchema(
            .object(["properties": .object(["id": .object(["type": .string("integer")])])]))
        let rule = ValidationRule(schema: schema)
        #expect(Validation([rule]).fault(Self.facts(200), Array("{\"id\":1}".utf8)) == nil)
        let failure = Validation([rule]).fault(Self.facts(200), Array("{\"id\":\"one\"}".utf8))
        #expect(failure?.kind == .customValidationFailed)
        #expect(failure?.details == [.instancePointer("/id")])
        #expect(Validation([rule]).fault(Self.facts(200), Array("{".utf8))?.kind == .customValidationFailed)
    }

    @Test(arguments: [
        ("200..299", 200, 299), ("200..<300", 200, 299), ("404", 404, 404), ("100..999", 100, 999),
        ("999..<1000", 999, 999),
    ])
    func `a range of statuses has both ends, or not the last`(text: String, low: Int, high: Int) {
        #expect(StatusRanges.range(text) == low...high)
    }

    @Test(arguments: [
        "", "2xx", "20", "1000", "300..200", "200..", "..299", "200...299", "200..<200", "200..<1001", "-200",
        "200..29a",
        "99999999999999999999", "200..<99999999999", "２00", "+200",
    ])
    func `anything else is no range`(text: String) {
        #expect(StatusRanges.range(text) == nil)
    }

    @Test(
        arguments: [
            (ResponseFacts(method: "HEAD", status: 200), true), (ResponseFacts(status: 204), true),
            (ResponseFacts(status: 304), true), (ResponseFacts(status: 200), false),
            (ResponseFacts(status: 200, fields: [HTTPFields.Field("content-length", " 0 ")]), true),
            (ResponseFacts(status: 200, fields: [HTTPFields.Field("content-length", "10")]), false),
        ] as [(ResponseFacts, Bool)])
    func `a head can say that there will be no body [I15]`(facts: ResponseFacts, isEmpty: Bool) {
        #expect(facts.saysEmpty == isEmpty)
    }
}
