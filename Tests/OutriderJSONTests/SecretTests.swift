// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderJSON

@Suite struct SecretTests {
    @Test(arguments: [
        "", "plain", #"a\"b\\c\/d"#, #"\b\f\n\r\t"#, #"\u0041\u00e9\u20AC"#, #"\ud83d\ude00 and \uD834\uDD1E"#,
        "é€😀", #"\u0000"#, String(repeating: #"x\n"#, count: 5000),
    ])
    func `a secret is decoded as any other string`(text: String) throws {
        let expected = try #require(try JSONParser.parse(Array("\"\(text)\"".utf8)).string)
        let bytes = Array(text.utf8)
        let secret = bytes.withUnsafeBufferPointer { Secret(unescaping: $0) }
        #expect(secret.exposed == expected)
        #expect(secret.count == expected.utf8.count)
        #expect(secret == Secret(expected))
    }

    @Test(arguments: [#"a\"#, #"a\u12"#, #"a\ud800"#, #"a\ud800\u0041"#, #"a\uzzzz"#])
    func `an escape that is wrong ends the text`(text: String) {
        let secret = Array(text.utf8).withUnsafeBufferPointer { Secret(unescaping: $0) }
        #expect(secret.exposed == "a")
    }

    @Test func `a buffer that grows keeps its bytes`() {
        var buffer = SecretBuffer()
        var expected: [UInt8] = []
        for count in [0, 1, 4095, 1, 4096, 100_000, 3] {
            let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            buffer.append(contentsOf: piece)
            expected += piece
        }
        buffer.replace(at: 2, with: [7, 8])
        buffer.replace(at: expected.count - 1, with: [9, 9])
        expected.replaceSubrange(2..<4, with: [7, 8])
        expected[expected.count - 1] = 9
        #expect(buffer.withBytes { $0.elementsEqual(expected) })
    }

    @Test func `no description shows a secret`() {
        let secret = Secret("hidden")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
            #expect(!text.contains("hidden"), "\(text)")
        }
    }

    @Test func `members become secrets where they stand, and the rest is read as before`() throws {
        let text = #"{"a":"one","b":["\u0074wo",1.10,{"c":"three"}],"d":"one"}"#
        let value = try Array(text.utf8).withUnsafeBufferPointer { bytes in
            try JSONParser.parse(bytes) { bytes in
                var found: [Range<Int>] = []
                var cursor = JSONCursor(bytes)
                cursor.eachMember { cursor, name in
                    let isSecret = cursor.text(name) != "d"
                    cursor.skip { range in if isSecret { found.append(range) } }
                }
                return found
            }
        }
        let object = try #require(value.object)
        #expect(object["a"] == .secret(Secret("one")))
        #expect(object["b"]?.array?[0] == .secret(Secret("two")))
        #expect(object["b"]?.array?[1] == .written("1.10"))
        #expect(object["b"]?.array?[2].object?["c"] == .secret(Secret("three")))
        #expect(object["d"] == .string("one"))
        #expect(String(decoding: JSONWriter.bytes(of: value), as: UTF8.self).contains(#""a":"***""#))
    }
}

@Suite struct CursorTests {
    @Test(arguments: [
        (#"{"a":{"b":"1","c":[2,"3"]},"d":"4"}"#, ["1", "3", "4"]), (#"["x", {"y" : "z"}]"#, ["x", "z"]),
        (#""only""#, ["only"]), (#"{"a\"b":"c\\"}"#, [#"c\\"#]), ("[]", []), ("{}", []), ("12", []),
    ])
    func `all string values are found, and no names`(text: String, strings: [String]) {
        var found: [String] = []
        let bytes = Array(text.utf8)
        bytes.withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            cursor.skip { found.append(String(decoding: bytes[$0], as: UTF8.self)) }
            #expect(!cursor.isLost && cursor.isAtEnd())
        }
        #expect(found == strings)
    }

    @Test(arguments: ["", "{", #"{"a""#, #"{"a":"#, "[1", #""a"#, "]", ",", ":", #"{"a" 1}"#, "{1:2}"])
    func `a text that is no JSON is said to be none`(text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            if cursor.peek() == UInt8(ascii: "{") {
                cursor.eachMember { cursor, _ in cursor.skip() }
            } else {
                cursor.skip()
            }
            #expect(cursor.isLost)
        }
    }

    @Test func `any bytes end`() {
        var random = SeededRandom(seed: 12)
        let letters = Array(#"{}[]:,"\a1 "#.utf8) + [0]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                letters[Int.random(in: 0..<letters.count, using: &random)]
            }
            bytes.withUnsafeBufferPointer { bytes in
                var cursor = JSONCursor(bytes)
                cursor.skip()
                cursor = JSONCursor(bytes)
                if cursor.peek() == UInt8(ascii: "{") { cursor.eachMember { cursor, _ in cursor.skip() } }
                if cursor.peek() == UInt8(ascii: "[") { cursor.eachElement { $0.skip() } }
            }
        }
    }
}
