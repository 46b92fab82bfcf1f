// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct SerializationTests {
    private static func give(
        _ bytes: [UInt8], _ shape: SerializeSpec.Shape, _ type: String?, encoding: String? = nil,
        emptyIsFine: Bool = false
    ) -> (shape: String, note: String?, failure: HTTPFailure?) {
        let body = Serialization.serialize(
            bytes, as: SerializeSpec(shape, encoding: encoding), contentType: type, emptyIsFine: emptyIsFine)
        let shown =
            switch body.shape {
            case .none: "none"
            case .json(let text): "json " + String(decoding: text.bytes, as: UTF8.self)
            case .text(let text, let charset): "text \(text) \(charset)"
            case .base64, .data: "base64"
            }
        return (shown, body.note, body.failure)
    }

    private static func give(
        _ text: String, _ shape: SerializeSpec.Shape, _ type: String?, encoding: String? = nil
    ) -> (shape: String, note: String?, failure: HTTPFailure?) {
        give(Array(text.utf8), shape, type, encoding: encoding)
    }

    @Test(arguments: [
        ("{\"a\": 1.0}", "application/json", "json {\"a\": 1.0}"),
        (
            "{\"a\":1,\"a\":18446744073709551616}", "application/json; charset=utf-8",
            "json {\"a\":1,\"a\":18446744073709551616}"
        ),
        ("{\n\"\u{e9}\":1}", "application/problem+json", "json { \"\\u00e9\":1}"),
        ("\u{feff}[]", "application/json", "json []"),
        ("<p>", "text/html", "text <p> utf-8"),
        ("{\"a\":1}", "text/plain", "text {\"a\":1} utf-8"),
        ("<x/>", "application/xml", "text <x/> utf-8"),
        ("abc", nil, "text abc utf-8"),
        ("abc", "nonsense", "text abc utf-8"),
        ("abc", "application/octet-stream", "base64"),
        ("abc", "image/png", "base64"),
    ])
    func `auto goes by the content type`(body: String, type: String?, given: String) {
        let found = Self.give(body, .auto, type)
        #expect(found.shape == given)
        #expect(found.note == nil)
        #expect(found.failure == nil)
    }

    /// Other bytes of the same length show whether they were looked at.
    @Test func `a stored body is checked once`() {
        func give(_ text: String, _ check: JSONCheck, encoding: String? = nil) -> Bool {
            let spec = SerializeSpec(.auto, encoding: encoding)
            let type = "application/json; charset=utf-8"
            let body = Serialization.serialize(Array(text.utf8), as: spec, contentType: type, check: check)
            if case .json = body.shape { return true }
            return false
        }
        let check = JSONCheck(size: 3)
        #expect(!give("[1}", check))
        #expect(give("[1]", check))
        #expect(give("[1}", check))
        #expect(!give("[1}", check, encoding: "utf-8"))
        #expect(!give("[12}", check))
        // its text differs from its bytes
        let rewritten = JSONCheck(size: 3)
        #expect(give("[\n]", rewritten))
        #expect(!give("[1}", rewritten))
    }

    @Test func `auto falls back and says why, without failing`() {
        let json = Self.give("{oops", .auto, "application/json")
        #expect(json.shape == "text {oops utf-8")
        #expect(json.note == "not JSON: expected a member name in double quotes at byte 1")
        #expect(json.failure == nil)
        let text = Self.give([0x61, 0xFF], .auto, "text/plain")
        #expect(text.shape == "base64")
        #expect(text.note == "the body is not utf-8 text")
        #expect(text.failure == nil)
        #expect(Self.give([0x61, 0xFF], .auto, nil).shape == "base64")
        #expect(Self.give([0xFF], .auto, "application/json").shape == "base64")
        let unknown = Self.give("abc", .auto, "text/plain; charset=x-unheard")
        #expect(unknown.shape == "base64")
        #expect(unknown.note == "the charset \"x-unheard\" is not known")
    }

    @Test func `text with U+0000 comes in base64`() {
        let text = Self.give("a\u{0}b", .auto, "text/plain")
        #expect(text.shape == "base64")
        #expect(text.note == "the body is text that holds U+0000")
        let failure = Self.give("a\u{0}b", .text, nil).failure
        #expect(failure?.kind == .stringSerializationFailed)
        #expect(failure?.details == [.encoding("utf-8")])
    }

    @Test func `text that was asked for fails where there is none`() {
        #expect(Self.give("abc", .text, "image/png").shape == "text abc utf-8")
        let found = Self.give([0xFF], .text, "text/plain; charset=us-ascii")
        #expect(found.shape == "base64")
        #expect(found.note == "the body is not us-ascii text")
        #expect(found.failure?.kind == .stringSerializationFailed)
        #expect(found.failure?.message == found.note)
        #expect(
            Self.give([0xE9], .text, "text/plain; charset=utf-8", encoding: "latin1").shape == "text \u{e9} iso-8859-1")
    }

    @Test func `JSON that was asked for fails where there is none, and the body comes all the same`() {
        #expect(Self.give("[1]", .json, "text/html").shape == "json [1]")
        let found = Self.give("<p>", .json, "text/html")
        #expect(found.shape == "text <p> utf-8")
        #expect(found.note == "not JSON: expected a value at byte 0")
        #expect(found.failure?.kind == .jsonSerializationFailed)
        #expect(found.failure?.underlying?.domain == .json)
        #expect(Self.give([0xFF, 0x00], .json, nil).shape == "base64")
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(Self.give(deep, .json, nil).failure?.kind == .jsonSerializationFailed)
    }

    @Test func `JSON in UTF-16 is turned into UTF-8`() {
        let bytes: [UInt8] = [0xFF, 0xFE] + "{\"\u{e9}\":1}".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        #expect(Self.give(bytes, .auto, "application/json").shape == "json {\"\\u00e9\":1}")
        let declared = Self.give([0x22, 0xE9, 0x22], .auto, "application/json; charset=iso-8859-1")
        #expect(declared.shape == "json \"\\u00e9\"")
    }

    @Test func `an empty body is none`() {
        for shape in SerializeSpec.Shape.allCases where shape != .json && shape != .propertyList {
            let found = Self.give([], shape, "text/plain")
            #expect(found.shape == "none" && found.failure == nil)
        }
        #expect(Self.give([], .json, "application/json").failure?.kind == .inputDataNilOrZeroLength)
        #expect(Self.give([], .json, "application/json", emptyIsFine: true).failure == nil)
    }

    @Test func `base64 and none are what they say`() {
        #expect(Self.give("abc", .base64, "text/plain").shape == "base64")
        #expect(Self.give("abc", .none, "text/plain").shape == "none")
    }
}
