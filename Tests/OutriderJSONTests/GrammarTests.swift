// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

/// What is a JSON text (RFC 8259) and what only looks like one.
@Suite struct GrammarTests {
    static let texts = [
        "null", "true", "false", "0", "-0", "1", "-1", "10", "1.5", "-1.5e10", "1E5", "1e-5", "1e+5", "0.0", "0e0",
        "123456789012345678", "\"\"", "\"a\"", "\"\u{e9}\u{20ac}\u{1F600}\"", "\"\u{7f}\"", "\"\u{2028}\"",
        "\"\u{fffe}\"",
        #""\"\\\/\b\f\n\r\t""#, #""\u0041\u00e9\u20AC""#, #""\ud83d\ude00""#, #""\uDBFF\uDFFF""#, #""\u0000""#,
        "[]", "[ ]", "[1]", "[1,2]", "[[]]", "[[],[[]]]", "[null,true,\"a\",{}]", "{}", "{ }", "{\"a\":1}", "{\"\":0}",
        "{\"a\":1,\"b\":2}", "{\"a\":{\"a\":{\"a\":[]}}}", " \t\r\n1 \t\r\n", "\n[\n1\n,\n2\n]\n",
        "{ \"a\" : 1 , \"b\" : [ ] }",
    ]

    static let refused = [
        "", " ", "nul", "nulll", "True", "TRUE", "tru", "undefined", "NaN", "Infinity", "-Infinity", "+1", "-", "--1",
        "01",
        "-01", "00", "1.", ".5", "1.e5", "1e", "1e+", "1e5.5", "0x10", "1_000", "1,", "1 2", "1\u{0}", "\u{0}",
        "\u{feff}1",
        "\"", "\"a", "a\"", "'a'", "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\u{1f}\"", #""\a""#, #""\x41""#, #""\'""#,
        #""\u""#,
        #""\u12""#, #""\u12g4""#, #""\U0041""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800\ud800""#,
        #""\ud800x""#, #""\ud83d\n""#, #""\"#, #""\""#, "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]",
        "[1:2]",
        "[1}", "[[]", "[]]", "{", "}", "{]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}",
        "{\"a\"}",
        "{\"a\",1}", "{a:1}", "{'a':1}", "{1:1}", "{null:1}", "{\"a\":1 \"b\":2}", "{\"a\"::1}", "{\"a\":1:2}",
        "{\"a\":}",
        "{:1}", "{\"a\":1}}", "{}{}", "{} []", "// comment\n1", "/* */1", "1 // c", "#1", "[1]x", "\u{a0}1",
        "\u{2028}1", "\u{c}1",
        "\u{b}1", "<json>", "=1", "\\u0031", "[\"a\",\n4\n,1,", "{\"a\":1]", "[*]", "$",
    ]

    @Test(arguments: texts)
    func `this is a JSON text`(text: String) throws {
        try JSONScanner.check(utf8(text))
        let value = try parsed(text)
        #expect(try parsed(written(value)) == value)
    }

    @Test(arguments: refused)
    func `this is none, and the fault lies inside it`(text: String) {
        let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text)) }
        #expect((0...text.utf8.count).contains(failure?.offset ?? -1))
        #expect(failure?.reason.isEmpty == false)
        #expect(throws: JSONFailure.self) { try parsed(text) }
    }

    private static let notUTF8: [[UInt8]] = [
        [0xFF], [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xC3, 0x28], [0xE2, 0x82], [0xE2, 0x28, 0xAC],
        [0xE0, 0x80, 0x80],
        [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x82, 0x82, 0xAC], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xE9],
    ]

    @Test(arguments: notUTF8)
    func `strings and names must be UTF-8`(bytes: [UInt8]) {
        for (before, after) in [("\"", "\""), ("[\"abcdefgh", "ijklmnop\"]"), ("{\"", "\":1}"), ("\"", "")] {
            let text = utf8(before) + bytes + utf8(after)
            let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(text) }
            #expect(failure?.offset ?? -1 <= text.count)
            #expect(throws: JSONFailure.self) { try JSONParser.parse(text) }
        }
    }

    @Test func `every scalar may stand in a string`() throws {
        var text = String.UnicodeScalarView()
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 61) {
            if let scalar = Unicode.Scalar(value) { text.append(scalar) }
        }
        let value = JSONValue.string(String(text))
        let bytes = JSONWriter.bytes(of: value)
        let isASCII = bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        #expect(isASCII)
        #expect(try JSONParser.parse(bytes).string?.unicodeScalars.elementsEqual(text) == true)
        let raw = utf8("\"") + utf8(String(text.filter { $0.value >= 0x20 && $0 != "\"" && $0 != "\\" })) + utf8("\"")
        try JSONScanner.check(raw)
    }
}
