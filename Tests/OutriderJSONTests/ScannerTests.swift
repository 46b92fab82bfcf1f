// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct ScannerTests {
    private static let samples = [
        #"{"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"http://h/","query":{"a":[1,2.5e-3,true,null]}}}"#,
        #"["\u00e9\ud83d\ude00\n","é€😀",{"":{}},[[[]]],-0.0,1e300]"#,
        "{ \"a\" : \"" + String(repeating: "long ", count: 20) + "\" , \"b\" : [ ] }",
    ]

    @Test(arguments: samples)
    func `no text is complete before its end`(text: String) throws {
        let bytes = utf8(text)
        try JSONScanner.check(bytes)
        for length in 0..<bytes.count {
            let prefix = Array(bytes[..<length])
            let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(prefix) }
            #expect(failure?.offset ?? .max <= length)
            #expect(throws: JSONFailure.self) { try JSONParser.parse(prefix) }
        }
    }

    @Test(arguments: samples)
    func `a text is read the same at every place in memory`(text: String) throws {
        for padding in 0..<17 {
            let spaces = String(repeating: " ", count: padding)
            #expect(try parsed(spaces + text + spaces) == parsed(text))
        }
    }

    @Test func `arrays and objects may be nested 128 deep`() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = open == "[" ? "" : "1"
            let text = { (depth: Int) in
                String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
            }
            try JSONScanner.check(utf8(text(128)))
            _ = try parsed(text(128))
            let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text(129))) }
            #expect(failure?.reason.contains("nested deeper than 128 levels") == true)
            #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text(100_000))) }
            #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(String(repeating: open, count: 100_000))) }
        }
    }

    @Test func `depth counts what is open, not what was`() throws {
        let text = "[" + String(repeating: "[],{},", count: 1000) + "[]]"
        try JSONScanner.check(utf8(text))
    }

    @Test func `values and names are counted together`() throws {
        var limits = JSONLimits()
        limits.tokens = 5
        try JSONScanner.check(utf8("[1,2,3,4]"), limits: limits)
        try JSONScanner.check(utf8("{\"a\":1,\"b\":2}"), limits: limits)
        for text in ["[1,2,3,4,5]", "{\"a\":1,\"b\":2,\"c\":3}", "[{},{},{},{},{}]", "[[[[[[]]]]]]"] {
            let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text), limits: limits) }
            #expect(failure?.reason.contains("more than 5 values") == true, "\(text)")
        }
    }

    @Test func `members are counted for each object alone`() throws {
        var limits = JSONLimits()
        limits.members = 2
        try JSONScanner.check(utf8("[{\"a\":1,\"b\":{\"a\":1,\"b\":2}},{\"a\":1,\"b\":2}]"), limits: limits)
        let text = "{\"a\":1,\"b\":2,\"c\":3}"
        let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text), limits: limits) }
        #expect(failure?.reason.contains("more than 2 members in one object") == true)
        try JSONScanner.check(utf8("[1,2,3]"), limits: limits)
    }

    @Test(arguments: [
        ("", 0, ""), ("x", 0, ""), ("[1,x]", 3, "/1"), ("{\"a\":[1,{\"b\":x}]}", 13, "/a/1/b"), ("{\"a\":1,}", 7, ""),
        ("[[],[[x", 6, "/1/0/0"), ("{\"a/b~\":{\"\":[x", 13, "/a~1b~0//0"), ("{\"\\u00e9\":x}", 10, "/\u{e9}"),
        ("[1 2]", 3, "/0"),
        ("[\"\\ud800\"]", 2, "/0"), ("{\"a\" 1}", 5, "/a"), ("{\"a\":\"\t\"}", 6, "/a"), ("[1,2", 4, "/1"),
        ("1 x", 2, ""),
        ("{\"a\":1,\"b\":{\"c\":nul}}", 16, "/b/c"),
    ])
    func `a fault is named by its byte and its place`(text: String, offset: Int, pointer: String) {
        let failure = #expect(throws: JSONFailure.self) { try JSONScanner.check(utf8(text)) }
        #expect(failure?.offset == offset, "\(failure?.reason ?? "")")
        #expect(failure?.pointer.description == pointer)
        let naming = failure?.reason.contains("\(offset)") == true || failure?.reason == "the text is empty"
        #expect(naming)
    }

    @Test func `limits do not hide in the word-wise reading of strings`() throws {
        // each special byte at each place within two words
        for place in 0..<16 {
            for byte: UInt8 in [0x00, 0x1F, 0x0A, 0x80, 0xFF, 0xC3] {
                var bytes = [0x22] + [UInt8](repeating: 0x61, count: 16) + [0x22]
                bytes[1 + place] = byte
                #expect(throws: JSONFailure.self, "0x\(String(byte, radix: 16)) at \(place)") {
                    try JSONScanner.check(bytes)
                }
            }
            var quoted = [0x22] + [UInt8](repeating: 0x61, count: 16) + [0x22]
            quoted[1 + place] = 0x22
            #expect(throws: JSONFailure.self) { try JSONScanner.check(quoted) }
            try JSONScanner.check(Array(quoted[...(1 + place)]))
        }
        for byte in UInt8(0x20)..<0x80 where byte != 0x22 && byte != 0x5C {
            try JSONScanner.check([0x22] + [UInt8](repeating: byte, count: 19) + [0x22])
        }
    }
}
