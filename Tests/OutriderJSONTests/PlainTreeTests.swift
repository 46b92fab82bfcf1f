// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderJSON

@Suite struct PlainTreeTests {
    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"https://example.org/a?b=c","timeout":30}}"#,
        " { \"a\" : [ 1 , -2 ,\t0,\n999999999999999999 ] , \"b\" : { } }\r\n", "[]", "[[],{},[{}]]", "{}", "0", "-7",
        "true", "[true,false,null]", #""""#, #""text""#, #"{"":"","\#u{e9}":"日本","e\#u{301}":"😀"}"#, #"["/",":,]}[{"]"#,
        "{" + (0..<32).map { #""n\#($0)":\#($0)"# }.joined(separator: ",") + "}",
    ])
    func `plain texts become the tree that jansson builds`(text: String) throws {
        let value = try utf8(text).withUnsafeBufferPointer { try #require(PlainTree.build($0)) }
        #expect(try value == byJansson(utf8(text)))
    }

    @Test(arguments: [
        #""\n""#, #"{"\u0061":1}"#, #"["a\\"]"#, "1.5", "[1e3]", "-0.0", "1000000000000000000", "{\"a\":1.10}",
        #"{"a":1,"a":2}"#, #"{"a":{"b":1,"c":2,"b":3}}"#, #"[{"":1,"":1}]"#, "\"\(String(repeating: "x", count: 4095))\"",
        "{" + (0...32).map { #""n\#($0)":0"# }.joined(separator: ",") + "}",
    ])
    func `what is not plain is left to jansson`(text: String) throws {
        try JSONScanner.check(utf8(text))
        #expect(utf8(text).withUnsafeBufferPointer { PlainTree.build($0) } == nil)
    }

    @Test(arguments: [
        "", " ", "[", "{", "\"", "\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1", "[1,", "-", "[1}", "{\"a\":1]",
        "{1:2}", "{\"a\" 1}", "[1 2]", "1 2", "nul", "[tru", "[1],", "]", "}", ":",
    ])
    func `texts that the scan would refuse do no harm`(text: String) {
        #expect(utf8(text).withUnsafeBufferPointer { PlainTree.build($0) } == nil)
    }

    @Test func `mutated texts never become another tree than jansson's`() throws {
        var values = RandomValues(random: SeededRandom(seed: 24))
        var random = SeededRandom(seed: 25)
        let spice = utf8("{}[]\",:\\u0123456789-.tfn \n") + [0xC3, 0xA9]
        var built = 0
        for _ in 0..<60_000 {
            var bytes = JSONWriter.bytes(of: Self.plain(values.value(depth: 3)))
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                let byte = spice.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(byte, at: place)
                case 1: if place < bytes.count { bytes[place] = byte }
                default: if place < bytes.count { bytes.remove(at: place) }
                }
            }
            guard let value = bytes.withUnsafeBufferPointer({ PlainTree.build($0) }) else { continue }
            let scanned = bytes.withUnsafeBufferPointer { try? JSONScanner.scan($0, limits: JSONLimits()) }
            guard let scanned, scanned.cuts.isEmpty else { continue }
            built += 1
            #expect(try value == byJansson(bytes))
        }
        #expect(built > 10_000, "only \(built) were plain")
    }

    /// Without what is never plain, so that mutations have something to change.
    private static func plain(_ value: JSONValue) -> JSONValue {
        switch value {
        case .real: .integer(12)
        case .integer(let number): .integer(number % 1_000_000)
        case .string(let text): .string(String(text.unicodeScalars.filter { $0.isASCII && $0.value > 0x22 }))
        case .array(let values): .array(values.map(plain))
        case .object(let object):
            .object(
                JSONObject(members: object.members.enumerated().map { .init("n\($0 % 3)\($0)", plain($1.value)) }))
        default: value
        }
    }

    private func byJansson(_ bytes: [UInt8]) throws -> JSONValue {
        try bytes.withUnsafeBufferPointer { buffer in
            let (_, members) = try JSONScanner.scan(buffer, limits: JSONLimits())
            return try JSONParser.build(buffer, members: members)
        }
    }
}
