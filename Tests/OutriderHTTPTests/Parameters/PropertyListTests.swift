// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct PropertyListTests {
    private static func xml(_ value: String) throws -> String {
        let text = String(decoding: try PropertyList(json(value)).encoded(as: .xml), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.prefix(3).last == "<plist version=\"1.0\">")
        #expect(lines.suffix(2) == ["</plist>", ""])
        return lines.dropFirst(3).dropLast(2).joined(separator: "\n")
    }

    @Test(arguments: [
        ("true", "<true/>"), ("[false]", "<array>\n\t<false/>\n</array>"), ("[]", "<array/>"), ("{}", "<dict/>"),
        ("-5", "<integer>-5</integer>"), ("18446744073709551615", "<integer>18446744073709551615</integer>"),
        ("1.5", "<real>1.5</real>"), ("1.50", "<real>1.5</real>"), ("1e3", "<real>1000.0</real>"),
        ("\"a<b>&\u{e9}\"", "<string>a&lt;b&gt;&amp;\u{e9}</string>"), (#""a\r\n""#, "<string>a&#13;\n</string>"),
        (#"{"$data":"ZGF0YQ=="}"#, "<data>ZGF0YQ==</data>"), (#"{"$decimal":"1.0"}"#, "<integer>1</integer>"),
        (#"{"$date":978307323.456}"#, "<date>2001-01-01T00:02:03Z</date>"),
        (
            #"{"b":1,"a":[2]}"#,
            "<dict>\n\t<key>b</key>\n\t<integer>1</integer>\n\t<key>a</key>\n\t<array>\n\t\t"
                + "<integer>2</integer>\n\t</array>\n</dict>"
        ),
    ])
    func `a property list is XML [C25]`(value: String, text: String) throws {
        #expect(try Self.xml(value) == text)
    }

    @Test(
        arguments: [
            ("true", [0x09]), ("false", [0x08]), ("5", [0x10, 5]), ("256", [0x11, 1, 0]),
            ("65536", [0x12, 0, 1, 0, 0]),
            ("-1", [0x13, 255, 255, 255, 255, 255, 255, 255, 255]),
            ("18446744073709551615", [0x14, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]),
            ("1.5", [0x23, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0]), (#""ab""#, [0x52, 0x61, 0x62]),
            ("\"\u{e9}\"", [0x61, 0, 0xE9]), (#"{"$data":"AP8="}"#, [0x42, 0, 255]),
            (#"{"$date":978307201}"#, [0x33, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]),
            (#"["a","b","a"]"#, [0xA3, 1, 2, 1, 0x51, 0x61, 0x51, 0x62]),
            (#"{"a":true}"#, [0xD1, 1, 2, 0x51, 0x61, 0x09]),
        ] as [(String, [UInt8])])
    func `a property list is binary [C25]`(value: String, objects: [UInt8]) throws {
        let bytes = try PropertyList(json(value)).encoded(as: .binary)
        #expect(Array(bytes.prefix(8 + objects.count)) == Array("bplist00".utf8) + objects)
        // the trailer: widths, number of objects, the top, and where the table of offsets begins
        #expect(Array(bytes.suffix(32).prefix(8)) == [0, 0, 0, 0, 0, 0, 1, 1])
        #expect(bytes.last == UInt8(truncatingIfNeeded: 8 + objects.count))
    }

    @Test(arguments: [
        ("null", ""), (#"{"a":[1,null]}"#, "/a/1"), ("[18446744073709551616]", "/0"),
        (#"{"a":{"$date":"x"}}"#, "/a/$date"),
    ])
    func `what a property list cannot hold is refused by its place [C25]`(value: String, pointer: String) throws {
        let complaint = #expect(throws: JSONComplaint.self) { try PropertyList(json(value)) }
        #expect(complaint?.pointer.description == pointer)
    }

    @Test func `a control character has a place in the binary format only`() throws {
        let list = try PropertyList(json(#"{"a":["\u0001"]}"#))
        let complaint = #expect(throws: JSONComplaint.self) { try list.encoded(as: .xml) }
        #expect(complaint?.pointer.description == "/a/0")
        #expect(try list.encoded(as: .binary).contains(1))
    }
}
