// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct ShapedSerializationTests {
    private static func spec(
        _ shape: SerializeSpec.Shape, encoding: String? = nil, _ change: (inout SerializeExtras) -> Void = { _ in }
    ) -> SerializeSpec {
        var spec = SerializeSpec(shape, encoding: encoding)
        var extras = SerializeExtras()
        extras.empty = EmptyRule()
        change(&extras)
        spec.extras = extras
        return spec
    }

    private static func schema(_ json: String) -> JSONSchema? {
        (try? JSONParser.parse(Array(json.utf8))).flatMap { try? JSONSchema($0) }
    }

    private static func shown(_ body: SerializedBody) -> String {
        switch body.shape {
        case .none: "none"
        case .json(let text): "json " + String(decoding: text.bytes, as: UTF8.self)
        case .text(let text, let charset): "text \(text) \(charset)"
        case .base64: "bytes"
        case .data(let bytes): "data " + String(decoding: bytes, as: UTF8.self)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var spec: SerializeSpec
        var body: [UInt8] = []
        var status: Int? = 200
        var method = "GET"
        var type: String?
        var given: String
        var kind: HTTPFailure.Kind?
        var label: String
        var testDescription: String { label }

        var facts: ResponseFacts {
            ResponseFacts(
                method: method, status: status,
                fields: type.map { [HTTPFields.Field("Content-Type", $0)] }.map(HTTPFields.init) ?? [])
        }
    }

    private static let utf32: [UInt8] = "abc".utf8.flatMap { [$0, 0, 0, 0] }

    static let cases: [Case] = [
        // empty
        Case(
            spec: spec(.base64), status: nil, given: "none", kind: .inputDataNilOrZeroLength,
            label: "nothing [3.F.7] [H3]"),
        Case(spec: spec(.base64), status: 204, given: "none", label: "an empty 204 as bytes [3.F.9] [H3] [H4]"),
        Case(spec: spec(.base64), method: "HEAD", given: "none", label: "an empty response to HEAD [3.F.11] [H3]"),
        Case(spec: spec(.text), given: "none", kind: .inputDataNilOrZeroLength, label: "empty text [3.F.13]"),
        Case(spec: spec(.text), status: 204, given: "none", label: "an empty 204 as text [3.F.19]"),
        Case(spec: spec(.json), given: "none", kind: .inputDataNilOrZeroLength, label: "empty JSON [3.F.22]"),
        Case(
            spec: SerializeSpec(.json), given: "none", kind: .inputDataNilOrZeroLength, label: "without a rule [3.F.22]"
        ),
        Case(spec: spec(.json), status: 204, given: "none", label: "an empty 204 as JSON [3.F.25]"),
        Case(spec: spec(.json), status: 205, given: "none", label: "an empty 205 as JSON [3.F.25]"),
        Case(spec: spec(.json), method: "HEAD", given: "none", label: "an empty HEAD as JSON [3.F.25]"),
        Case(spec: spec(.json), status: 304, given: "none", label: "304 has no body"),
        Case(
            spec: spec(.json) { $0.empty = EmptyRule(status: StatusRanges([200...200])) }, given: "none",
            label: "200 may be empty here [3.F.33] [H2]"),
        Case(
            spec: spec(.json) { $0.empty = EmptyRule(status: StatusRanges([200...200])) }, status: 204, given: "none",
            kind: .inputDataNilOrZeroLength, label: "and then 204 may not [H2]"),
        Case(
            spec: spec(.json) { $0.empty = EmptyRule(methods: ["PUT"]) }, method: "PUT", given: "none",
            label: "PUT may have such a response [H2]"),
        Case(spec: spec(.none), given: "none", label: "nothing is wanted"),
        Case(spec: spec(.auto), given: "none", label: "auto takes what there is"),
        // text
        Case(
            spec: spec(.text) { $0.fallback = "iso-8859-1" }, body: Array("\u{e9}".utf8),
            given: "text \u{c3}\u{a9} iso-8859-1", label: "the fallback [3.F.14] [H5]"),
        Case(
            spec: spec(.text) { $0.fallback = "iso-8859-1" }, body: [0xE9], type: "text/plain; charset=x-unheard",
            given: "text \u{e9} iso-8859-1", label: "the fallback for unknown charsets [H5]"),
        Case(
            spec: spec(.text) { $0.fallback = "iso-8859-1" }, body: [0xE9], type: "text/plain; charset=windows-1251",
            given: "text \u{439} windows-1251", label: "the declared charset [H5]"),
        Case(
            spec: spec(.text, encoding: "utf-8") { $0.fallback = "iso-8859-1" }, body: Array("\u{e9}".utf8),
            type: "text/plain; charset=windows-1251", given: "text \u{e9} utf-8",
            label: "the explicit one [3.F.15] [H5]"),
        Case(
            spec: spec(.text, encoding: "utf-8"), body: utf32, given: "bytes", kind: .stringSerializationFailed,
            label: "UTF-32 as UTF-8 [3.F.17]"),
        // JSON
        Case(
            spec: spec(.json), body: Array("{\"json\": true}".utf8), given: "json {\"json\": true}",
            label: "an object [3.F.23] [H6]"),
        Case(
            spec: spec(.json), body: Array("definitely not valid json".utf8),
            given: "text definitely not valid json utf-8", kind: .jsonSerializationFailed, label: "no JSON [3.F.24]"),
        Case(
            spec: spec(.json), body: Array("\"abcd\"".utf8), given: "json \"abcd\"",
            label: "a string alone [3.F.26] [H6]"),
        Case(
            spec: spec(.json), body: Array("[1.0,1.10,18446744073709551616]".utf8),
            given: "json [1.0,1.10,18446744073709551616]", label: "numbers as written [H6]"),
        // schema
        Case(
            spec: spec(.auto) { $0.schema = schema(#"{"required":["string"]}"#) },
            body: Array(#"{"string":"string"}"#.utf8), given: #"json {"string":"string"}"#,
            label: "it fits [3.F.27] [H7]"),
        Case(
            spec: spec(.auto) { $0.schema = schema(#"{"type":"object"}"#) }, status: 204, given: "none",
            kind: .invalidEmptyResponse, label: "204 where an object is wanted [3.F.29]"),
        Case(
            spec: spec(.auto) { $0.schema = schema(#"{"type":["object","null"]}"#) }, status: 204, given: "none",
            label: "204 where null will do [H7]"),
        Case(
            spec: spec(.auto) { $0.schema = schema(#"{"type":"object"}"#) }, given: "none",
            kind: .inputDataNilOrZeroLength, label: "an empty 200 [3.F.32]"),
        Case(
            spec: spec(.json) { $0.schema = schema(#"{"type":"object"}"#) }, body: Array("[1]".utf8), given: "json [1]",
            kind: .decodingFailed, label: "it does not fit [H7]"),
        // before
        Case(
            spec: spec(.base64) { $0.preprocess = .dropFirst(1) }, body: Array("abcd".utf8), given: "data bcd",
            label: "bytes without the first [3.F.35] [H10]"),
        Case(
            spec: spec(.json) { $0.preprocess = .dropFirst(1) }, body: Array("1\"abcd\"".utf8),
            given: "json \"abcd\"", label: "JSON without the first byte [3.F.36]"),
        Case(
            spec: spec(.text) { $0.preprocess = .googleXSSI }, body: Array(")]}',\nabcd".utf8),
            given: "text abcd utf-8", label: "the prefix goes [3.F.39] [H10]"),
        Case(
            spec: spec(.text) { $0.preprocess = .googleXSSI }, body: Array(")]}'abcd".utf8),
            given: "text )]}'abcd utf-8", label: "nothing else does [H10]"),
        Case(
            spec: spec(.json) { $0.preprocess = .dropFirst(9) }, body: Array("abc".utf8), given: "none",
            kind: .jsonSerializationFailed, label: "nothing is left"),
        Case(
            spec: spec(.propertyList) { $0.preprocess = .dropFirst(9) }, body: Array("abc".utf8), given: "none",
            kind: .decodingFailed, label: "nothing is left of a property list"),
        Case(
            spec: spec(.text) { $0.preprocess = .dropFirst(9) }, status: 204, given: "none",
            label: "an empty body stays as it is [H10]"),
    ]

    @Test(arguments: cases)
    func `each body comes in its shape, or fails for its own reason`(one: Case) {
        let body = Serialization.serialize(one.body, as: one.spec, one.facts)
        #expect(Self.shown(body) == one.given)
        #expect(body.failure?.kind == one.kind)
    }

    @Test func `the failure names the charset [3.F.17]`() {
        let body = Serialization.serialize(
            Self.utf32, as: Self.spec(.text, encoding: "utf8"), ResponseFacts(status: 200))
        #expect(body.failure?.details == [.encoding("utf8")])
    }

    @Test func `a schema's failure points into the body [H7]`() {
        let spec = Self.spec(.json) { $0.schema = Self.schema(#"{"items":{"type":"integer"}}"#) }
        let body = Serialization.serialize(Array("[1,2,\"x\"]".utf8), as: spec, ResponseFacts(status: 200))
        #expect(body.failure?.details == [.instancePointer("/2")])
    }

    @Test func `an empty text is a text unless a rule was given [H3]`() {
        for shape in [SerializeSpec.Shape.text, .base64] {
            #expect(Serialization.serialize([], as: SerializeSpec(shape), ResponseFacts(status: 200)).failure == nil)
        }
    }

    // MARK: cases

    private static let models: SerializeSpec = {
        var spec = SerializeSpec(.text)
        var extras = SerializeExtras()
        extras.cases = [
            BodyCase(name: "user", when: .init(status: .successful), serialize: SerializeSpec(.json)),
            BodyCase(
                name: "problem", when: .init(contentType: [MediaType("application", "problem+json")]),
                serialize: SerializeSpec(.json)),
            BodyCase(
                name: "offline", when: .init(error: .kinds([.timedOut, .offline]), isEmpty: true),
                serialize: SerializeSpec(), value: JSONText(written: Array("{\"offline\":true}".utf8))),
            BodyCase(name: "broken", when: .init(error: .any(true)), serialize: SerializeSpec(.base64)),
        ]
        spec.extras = extras
        return spec
    }()

    @Test(
        arguments: [
            (200, nil, nil, "{}", "user", "json {}"),
            (404, "application/problem+json", nil, "[]", "problem", "json []"),
            (nil, nil, .timedOut, "", "offline", "json {\"offline\":true}"),
            (nil, nil, .connectionLost, "", "broken", "none"),
            (500, nil, .connectionLost, "x", "broken", "bytes"), (404, nil, nil, "gone", nil, "text gone utf-8"),
        ] as [(Int?, String?, HTTPFailure.Kind?, String, String?, String)])
    func `two models for one API: the first case that holds is taken [H11]`(
        status: Int?, type: String?, kind: HTTPFailure.Kind?, body: String, name: String?, given: String
    ) {
        let facts = ResponseFacts(
            status: status, fields: type.map { [HTTPFields.Field("Content-Type", $0)] }.map(HTTPFields.init) ?? [])
        let failure = kind.map { HTTPFailure($0, "") }
        let found = Serialization.serialize(Array(body.utf8), as: Self.models, facts, failure: failure)
        #expect(found.branch == name)
        #expect(Self.shown(found) == given)
    }

    @Test func `no error is a condition, too`() {
        var spec = SerializeSpec()
        var extras = SerializeExtras()
        extras.cases = [BodyCase(name: "fine", when: .init(error: .any(false)), serialize: SerializeSpec(.text))]
        spec.extras = extras
        #expect(spec.chosen(ResponseFacts(status: 200), failure: nil, isEmpty: false).branch?.name == "fine")
        let failure = HTTPFailure(.timedOut, "")
        #expect(spec.chosen(ResponseFacts(status: 200), failure: failure, isEmpty: false).branch == nil)
    }
}
