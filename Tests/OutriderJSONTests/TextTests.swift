// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct JSONTextTests {
    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1}"#),
        (#" { "a" : 1.0 , "a" : 18446744073709551616 } "#, #" { "a" : 1.0 , "a" : 18446744073709551616 } "#),
        ("{\n\t\"a\":\r\n1}", "{  \"a\":  1}"),
        ("\"\u{e9}\u{1F600}\u{2028}\u{7f}\"", #""\u00e9\ud83d\ude00\u2028\u007f""#),
        ("1e999", "1e999"),
        ("{\"\u{e9}\":\"\\u00E9\\/\"}", #"{"\u00e9":"\u00E9\/"}"#),
    ])
    func `a text is passed through on one line of ASCII`(text: String, expected: String) throws {
        let passed = try JSONText(checking: utf8(text))
        #expect(String(decoding: passed.bytes, as: UTF8.self) == expected)
        #expect(written(passed) == expected)
    }

    @Test func `values are equal by their bytes`() {
        let texts = ["\u{e9}", "e\u{301}", "\u{212a}", "K"]
        for one in texts {
            for other in texts {
                let isSame = Array(one.utf8) == Array(other.utf8)
                #expect((JSONValue.string(one) == .string(other)) == isSame)
                #expect((JSONValue.object([one: .null]) == .object([other: .null])) == isSame)
                #expect((ByteText(one) == ByteText(other)) == isSame)
            }
        }
        let values: [JSONValue] = [
            .null, .bool(true), .integer(1), .real(1), .written("1.0"), .string("1.0"), .array([]), .object([:]),
        ]
        for (place, one) in values.enumerated() {
            for (index, other) in values.enumerated() { #expect((one == other) == (place == index)) }
        }
    }

    @Test(arguments: ["", "{", "[1,]", "\"\\ud800\"", "nul", "\"\u{1}\"", "1 1"])
    func `what is no JSON is refused`(text: String) {
        #expect(throws: JSONFailure.self) { try JSONText(checking: utf8(text)) }
    }

    @Test func `limits hold for foreign text`() {
        let deep = String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
        #expect(throws: JSONFailure.self) { try JSONText(checking: utf8(deep)) }
        #expect(throws: JSONFailure.self) { try JSONText(checking: [0x22, 0xFF, 0x22]) }
    }

    @Test func `what passes through means the same`() throws {
        var values = RandomValues(random: SeededRandom(seed: 31))
        for _ in 0..<500 {
            let value = values.value()
            let bytes = JSONWriter.bytes(of: value)
            #expect(try JSONText(checking: bytes).bytes == bytes)
            #expect(try JSONParser.parse(JSONText(checking: Array(utf8("\n") + bytes + utf8("\n"))).bytes) == value)
        }
    }
}
