// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct TextDecodingTests {
    @Test(
        arguments: [
            ([0x61, 0xC3, 0xA9], nil, "a\u{e9}", Charset.utf8),
            ([0xEF, 0xBB, 0xBF, 0x61], nil, "a", .utf8),
            ([0xEF, 0xBB, 0xBF, 0x61], "iso-8859-1", "a", .utf8),
            ([0xFF, 0xFE, 0x61, 0x00], nil, "a", .utf16le),
            ([0xFE, 0xFF, 0x00, 0x61], "utf-8", "a", .utf16be),
            ([0x61, 0x00], "utf-16", "a", .utf16le),
            ([0x00, 0x61], "UTF-16BE", "a", .utf16be),
            ([0x3D, 0xD8, 0x00, 0xDE], "utf-16le", "\u{1F600}", .utf16le),
            ([0xE9, 0x80], "latin1", "\u{e9}\u{80}", .latin1),
            ([0xE9, 0x80, 0x9F], "windows-1252", "\u{e9}\u{20ac}\u{178}", .windows1252),
            ([0x81], "cp1252", "\u{81}", .windows1252),
            ([0xA4], "ISO-8859-15", "\u{20ac}", .latin9),
            ([0xB1, 0xE6], "iso-8859-2", "\u{105}\u{107}", .latin2),
            ([0xB9, 0xE6], "windows-1250", "\u{105}\u{107}", .windows1250),
            ([0xCF, 0xF0, 0xE8], "windows-1251", "\u{41f}\u{440}\u{438}", .windows1251),
            ([0xF0, 0xD2, 0xC9], "koi8-r", "\u{41f}\u{440}\u{438}", .koi8r),
            ([0xBF, 0xE0, 0xD8], "iso-8859-5", "\u{41f}\u{440}\u{438}", .cyrillic),
            ([0x7F, 0x00], "us-ascii", "\u{7f}\u{0}", .ascii),
            ([], nil, "", .utf8),
        ] as [([UInt8], String?, String, Charset)])
    func `bytes are read in their charset`(bytes: [UInt8], declared: String?, text: String, charset: Charset) {
        let decoded = TextDecoding.decode(bytes, declared: declared)
        #expect(decoded == DecodedText(text: text, charset: charset))
    }

    @Test(
        arguments: [
            ([0xFF], nil), ([0xC3], nil), ([0xED, 0xA0, 0x80], "utf-8"), ([0xC0, 0x80], "utf-8"), ([0xE9], "us-ascii"),
            ([0x61], "utf-16"), ([0x00, 0xD8], "utf-16le"), ([0x00, 0xDC, 0x00, 0xD8], "utf-16le"), ([0x61], "utf-99"),
            ([0x61], ""), ([0xF5, 0x80, 0x80, 0x80], nil),
        ] as [([UInt8], String?)])
    func `what is not in the charset is not guessed`(bytes: [UInt8], declared: String?) {
        #expect(TextDecoding.decode(bytes, declared: declared) == nil)
    }

    @Test func `the caller's charset wins over mark and declaration`() {
        #expect(TextDecoding.decode([0xE9], wanted: "latin1", declared: "utf-8")?.text == "\u{e9}")
        #expect(TextDecoding.decode([0xEF, 0xBB, 0xBF, 0x61], wanted: "utf-8", declared: "latin1")?.text == "a")
        #expect(TextDecoding.decode([0xEF, 0xBB, 0xBF], wanted: "latin1")?.text == "\u{ef}\u{bb}\u{bf}")
        #expect(TextDecoding.decode([0x61], wanted: "utf-99", declared: "utf-8") == nil)
    }

    @Test func `every byte of every single-byte charset has a character of its own`() {
        let all = (UInt8(0)...255).map { $0 }
        for charset in Charset.allCases where ![.utf8, .utf16le, .utf16be, .ascii].contains(charset) {
            let text = TextDecoding.decode(all, wanted: charset.name)?.text
            #expect(text?.unicodeScalars.count == 256, "\(charset)")
            #expect(Set(text?.unicodeScalars.map { $0 } ?? []).count == 256, "\(charset)")
        }
    }

    @Test(arguments: Charset.allCases)
    func `every charset is found by its own name`(charset: Charset) {
        #expect(Charset(label: charset.name) == charset)
        #expect(Charset(label: " \(charset.name.uppercased())\t") == charset)
    }
}
