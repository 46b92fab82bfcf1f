// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct WriterTests {
    @Test(
        arguments: [
            (0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (1e15, "1e+15"), (1e16, "1e+16"), (1e-7, "1e-07"),
            (100.0, "100.0"),
            (.leastNonzeroMagnitude, "5e-324"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (.nan, "null"),
            (.infinity, "null"),
            (-.infinity, "null"), (0.30000000000000004, "0.30000000000000004"),
        ] as [(Double, String)])
    func `reals are short and read back the same`(number: Double, text: String) throws {
        let found = written(number)
        if number.isFinite {
            #expect(try parsed(found) == .real(number))
            #expect(Double(found)?.bitPattern == number.bitPattern)
            #expect(found.utf8.count <= 24)
        } else {
            #expect(found == text)
        }
        if number.magnitude >= 0.001, number.magnitude < 1e15 { #expect(found == text) }
    }

    @Test(
        arguments: [
            (0, "0"), (9, "9"), (10, "10"), (-1, "-1"), (-10, "-10"), (.max, "9223372036854775807"),
            (.min, "-9223372036854775808"),
        ] as [(Int64, String)])
    func `integers are exact`(number: Int64, text: String) {
        #expect(written(number) == text)
    }

    @Test(arguments: [
        ("", #""""#), ("a", #""a""#), ("\"\\/", #""\"\\/""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{8}\u{c}\u{1f}\u{7f}", #""\u0000\u0008\u000c\u001f\u007f""#),
        ("\u{e9}", #""\u00e9""#), ("\u{20ac}", #""\u20ac""#), ("\u{1F600}", #""\ud83d\ude00""#),
        ("\u{2028}\u{85}", #""\u2028\u0085""#),
        ("a\u{e9}b\"c", #""a\u00e9b\"c""#), ("\u{10FFFF}", #""\udbff\udfff""#), ("e\u{301}", #""e\u0301""#),
    ])
    func `strings are ASCII`(text: String, expected: String) {
        #expect(written(text) == expected)
    }

    /// Eight bytes are looked at at a time: whatever stands anywhere in them must be seen, and nothing else.
    @Test(arguments: [
        Array(UInt8.min...UInt8.max), Array("ab\"\\\n\u{1}\u{7f}\u{e9}\u{1F600}~ ".utf8),
        [0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4, 0xF5],
    ])
    func `any bytes are written as the text that they are`(pool: [UInt8]) {
        var random = SeededRandom(seed: UInt64(pool.count))
        for length in 0..<600 {
            let text = (0..<length % 70).compactMap { _ in pool.randomElement(using: &random) }
            let string = String(decoding: text, as: UTF8.self)
            #expect(String(decoding: JSONWriter.bytes(ofText: text), as: UTF8.self) == escaped(string))
            #expect(written(string) == escaped(string))
        }
    }

    @Test(arguments: ["\u{1F600}\"\u{1}", "\u{e9}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{20AC}"])
    func `a text that becomes much longer is whole`(_ part: String) {
        let text = String(repeating: part, count: 10_000)
        #expect(String(decoding: JSONWriter.bytes(ofText: Array(text.utf8)), as: UTF8.self) == escaped(text))
    }

    /// The rule, scalar by scalar.
    private func escaped(_ text: String) -> String {
        var escaped = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": escaped += "\\\(scalar)"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case " "..."~": escaped.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return escaped + "\""
    }

    @Test func `containers put their commas where they belong`() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("a", 1)
            writer.member("none", nil as String?)
            writer.member("some", "x" as String?)
            writer.member("empty") { _ in }
            writer.member("object") { writer in
                writer.member("b", true)
                writer.name("null")
                writer.null()
            }
            writer.name("array")
            writer.array { writer in
                writer.value(1)
                writer.array { _ in }
                writer.object { _ in }
                writer.value([1, 2])
                writer.text(JSONText(written: utf8("{\"raw\":1e5}")))
                writer.value(0.5)
            }
            writer.name(dynamic: "dyn\"amic")
            writer.value(JSONValue.null)
            [UInt8]("hi!".utf8).withUnsafeBytes { writer.member("bytes", base64: $0) }
            writer.member("last", JSONNothing())
        }
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(
            text
                == #"{"a":1,"some":"x","empty":{},"object":{"b":true,"null":null},"array":[1,[],{},[1,2],{"raw":1e5},0.5],"#
                + #""dyn\"amic":null,"bytes":"aGkh","last":{}}"#)
    }

    @Test func `a pointer is written as its text`() {
        #expect(written(JSONPointer(member: "a/b")) == #""/a~1b""#)
    }
}
