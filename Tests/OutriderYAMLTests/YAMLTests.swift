// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderYAML
import Testing

@Suite struct YAMLTests {
    private static func json(_ text: String) throws -> String {
        String(decoding: JSONWriter.bytes(of: try YAMLDocument.parse(Array(text.utf8))), as: UTF8.self)
    }

    @Test(arguments: [
        ("", "null"), ("a", #""a""#), ("no", #""no""#), ("yes", #""yes""#), ("on", #""on""#), ("true", "true"),
        ("False", "false"),
        ("~", "null"), ("12", "12"), ("-12", "-12"), ("+12", "12"), ("012", "12"), ("0x1F", "31"), ("0o17", "15"),
        ("1_000", #""1_000""#),
        ("1.5", "1.5"), (".5", "0.5"), ("1.", "1.0"), ("1e3", "1000.0"), ("1.2.3", #""1.2.3""#), ("12:30", #""12:30""#),
        ("2030-01-31", #""2030-01-31""#), ("\"12\"", #""12""#), ("'true'", #""true""#), ("!!str 12", #""12""#),
        ("! 12", #""12""#),
        ("-", "[null]"), ("[a, 1, true]", #"["a",1,true]"#), ("{a: 1, b: {c: [2]}}", #"{"a":1,"b":{"c":[2]}}"#),
        ("b: 1\na: 2\n", #"{"b":1,"a":2}"#), ("200: ok\n", #"{"200":"ok"}"#), ("a: |\n  x\n  y\n", #"{"a":"x\ny\n"}"#),
        ("a: &x {b: 1}\nc: *x\n", #"{"a":{"b":1},"c":{"b":1}}"#), ("--- {a: 1}\n...\n", #"{"a":1}"#),
        ("# only a comment", "null"),
        ("a: é", #"{"a":"\u00e9"}"#), ("-.", #""-.""#), ("-e5", #""-e5""#),
        ("9223372036854775808", "9223372036854775808"), ("-0010000000000000000000", "-10000000000000000000"),
        ("=", #""=""#),
    ])
    func `a document becomes the value that YAML 1.2 says`(text: String, json: String) throws {
        #expect(try Self.json(text) == json)
    }

    @Test(arguments: [
        ("a: 1\na: 2\n", 2, "", "the key a occurs twice"),
        ("a: 1\n---\nb: 2\n", 2, "", "there is more than one document"),
        ("a:\n  - b: *c\n", 2, "/a/0/b", "*c stands for nothing"), ("? [a]\n: b\n", 1, "", "a key must be a text"),
        ("a: !!binary aGk=\n", 1, "/a", "the tag"), ("a: !mine 1\n", 1, "/a", "the tag !mine"),
        ("a: .inf\n", 1, "/a", ".inf is a number"),
        ("a: 0x8000000000000000\n", 1, "/a", "0x8000000000000000 is too large"),
        ("<<: {a: 1}\n", 1, "", "<< is no part of YAML 1.2"),
        ("a: [1\n", 2, "/a", ""), ("a: b: c\n", 1, "", ""), ("a: \"\\q\"\n", 1, "/a", ""), ("\tx: 1", 1, "", ""),
        ("a: &x [*x]\n", 1, "/a/0", "*x stands for nothing"),
    ])
    func `what is refused is told with line and place`(text: String, line: Int, pointer: String, reason: String) {
        let fault = #expect(throws: YAMLFault.self) { try YAMLDocument.parse(Array(text.utf8)) }
        #expect(fault?.line == line)
        #expect(fault?.pointer.description == pointer)
        #expect(fault?.reason.hasPrefix(reason) == true)
    }

    @Test func `a member is on the line of its key, and an element on its own`() {
        let text = Array("a: 1\nb:\n\n  c:\n    - x\n    - d: 2\n".utf8)
        let places = [(["b"], 2), (["b", "c"], 4), (["b", "z"], 2)]
        for (names, line) in places {
            let pointer = names.reduce(JSONPointer.root) { $0.appending(JSONPointer(member: $1)) }
            #expect(YAMLDocument.line(of: pointer, in: text) == line)
        }
        let list = JSONPointer(member: "b").appending(JSONPointer(member: "c"))
        #expect(YAMLDocument.line(of: list.appending(JSONPointer(index: 1)), in: text) == 6)
    }

    @Test func `aliases of aliases do not grow without bound`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...30 {
            let alias = "*a\(level - 1)"
            text += "a\(level): &a\(level) [\([String](repeating: alias, count: 10).joined(separator: ", "))]\n"
        }
        let fault = #expect(throws: YAMLFault.self) { try YAMLDocument.parse(Array(text.utf8)) }
        #expect(fault?.reason.hasPrefix("there are more than 2000000 values") == true)
    }

    @Test func `what is nested too deeply is refused`() {
        let text = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
        let fault = #expect(throws: YAMLFault.self) { try YAMLDocument.parse(Array(text.utf8)) }
        #expect(fault?.reason == "nested deeper than 128 levels")
    }

    @Test func `an alias counts as deep as the value that it stands for`() throws {
        func chain(_ levels: Int) -> [UInt8] {
            let lines = (1...levels).map { "- &a\($0) [\($0 == 1 ? "x" : "*a\($0 - 1)")]\n" }
            return Array(lines.joined().utf8)
        }
        // the list around all of them is the first level
        #expect(throws: Never.self) { try YAMLDocument.parse(chain(127)) }
        let fault = #expect(throws: YAMLFault.self) { try YAMLDocument.parse(chain(128)) }
        #expect(fault?.reason == "nested deeper than 128 levels")
    }

    @Test func `texts count as often as aliases repeat them`() {
        let text = "- &a \(String(repeating: "x", count: 1 << 20))\n" + String(repeating: "- *a\n", count: 64)
        let fault = #expect(throws: YAMLFault.self) { try YAMLDocument.parse(Array(text.utf8)) }
        #expect(fault?.reason == "there are more than 67108864 bytes of text, aliases counted")
    }

    @Test func `any bytes are read or refused`() {
        let samples = [
            "a: &x [1, 'b', \"c\\n\"]\nd: *x\n", "- |\n  text\n- >-\n  more\n- {k: v, ? x : y}\n",
            "%YAML 1.2\n---\n!!map {a: !!int 1}\n",
        ]
        var state: UInt64 = 91
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for round in 0..<20_000 {
            var bytes = Array(samples[round % samples.count].utf8)
            for _ in 0...random(4) {
                let spice: [UInt8] = [
                    0, 9, 10, 13, 32, 33, 34, 35, 38, 39, 42, 44, 45, 58, 60, 62, 63, 64, 91, 93, 123, 124, 125, 0x80,
                    0xC3, 0xFF,
                ]
                let place = random(bytes.count)
                if random(2) == 0 {
                    bytes[place] = spice[random(spice.count)]
                } else {
                    bytes.insert(spice[random(spice.count)], at: place)
                }
            }
            _ = try? YAMLDocument.parse(bytes)
        }
    }
}
