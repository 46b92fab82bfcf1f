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
            ([0x61, 0x00], "iso-10646-ucs-2", "a", .utf16le),
            ([0x00, 0x61], "UTF-16BE", "a", .utf16be),
            ([0x3D, 0xD8, 0x00, 0xDE], "utf-16le", "\u{1F600}", .utf16le),
            ([0x00, 0xF6, 0x01, 0x00], "utf-32", "\u{1F600}", .utf32le),
            ([0x00, 0x01, 0xF6, 0x00], "UTF-32BE", "\u{1F600}", .utf32be),
            ([0xFF, 0xFE, 0x00, 0x00, 0x61, 0x00, 0x00, 0x00], nil, "a", .utf32le),
            ([0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x61], "utf-32", "a", .utf32be),
            ([0xFF, 0xFE, 0x00, 0x00], "utf-16", "\u{0}", .utf16le),
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
            ([0x61], ""), ([0xF5, 0x80, 0x80, 0x80], nil), ([0x61, 0x00, 0x00], "utf-32"),
            ([0x00, 0xD8, 0x00, 0x00], "utf-32le"), ([0x00, 0x11, 0x00, 0x00], "utf-32be"),
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

    @Test func `a wanted UTF-16 without a byte order leaves the order to the mark`() {
        let high: [UInt8] = [0xFE, 0xFF, 0x00, 0x61]
        for label in ["utf-16", " UTF-16", "ucs-2", "unicode-1-1"] {
            #expect(TextDecoding.decode(high, wanted: label) == DecodedText(text: "a", charset: .utf16be))
        }
        #expect(TextDecoding.decode(high, wanted: "utf-16le")?.text == "\u{FFFE}\u{6100}")
        #expect(TextDecoding.decode([0xFF, 0xFE, 0x61, 0x00], wanted: "utf-16")?.charset == .utf16le)
        let longest: [UInt8] = [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x61]
        #expect(TextDecoding.decode(longest, wanted: "utf-32") == DecodedText(text: "a", charset: .utf32be))
    }

    @Test(
        arguments: [
            ([0xC5, 0xEB, 0xEB, 0xDC, 0xE4, 0xE1], "windows-1253", "\u{395}\u{3bb}\u{3bb}\u{3ac}\u{3b4}\u{3b1}"),
            ([0xC5, 0xEB, 0xEB, 0xDC, 0xE4, 0xE1], "iso-8859-7", "\u{395}\u{3bb}\u{3bb}\u{3ac}\u{3b4}\u{3b1}"),
            (
                [0xDD, 0x73, 0x74, 0x61, 0x6E, 0x62, 0x75, 0x6C, 0x20, 0xFD, 0xF0, 0xFE], "windows-1254",
                "\u{130}stanbul \u{131}\u{11f}\u{15f}"
            ),
            (
                [0xDD, 0x73, 0x74, 0x61, 0x6E, 0x62, 0x75, 0x6C, 0x20, 0xFD, 0xF0, 0xFE], "iso-8859-9",
                "\u{130}stanbul \u{131}\u{11f}\u{15f}"
            ),
            ([0xF9, 0xEC, 0xE5, 0xED], "windows-1255", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
            ([0xF9, 0xEC, 0xE5, 0xED], "iso-8859-8", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
            ([0xE3, 0xD1, 0xCD, 0xC8, 0xC7], "windows-1256", "\u{645}\u{631}\u{62d}\u{628}\u{627}"),
            ([0xE5, 0xD1, 0xCD, 0xC8, 0xC7], "iso-8859-6", "\u{645}\u{631}\u{62d}\u{628}\u{627}"),
            ([0xFE, 0x61, 0x6C, 0x67, 0x69, 0x72, 0x69, 0x73], "windows-1257", "\u{17e}algiris"),
            ([0xFE, 0x61, 0x6C, 0x67, 0x69, 0x72, 0x69, 0x73], "iso-8859-13", "\u{17e}algiris"),
            ([0xBE, 0x61, 0x6C, 0x67, 0x69, 0x72, 0x69, 0x73], "iso-8859-4", "\u{17e}algiris"),
            ([0xD0, 0xE0], "windows-1258", "\u{110}\u{e0}"),
            ([0xE4, 0xB7, 0xC2], "windows-874", "\u{e44}\u{e17}\u{e22}"),
            ([0xE6, 0x69, 0x75, 0xBC, 0x61, 0xFD, 0x64, 0x65], "iso-8859-3", "\u{109}iu\u{135}a\u{16d}de"),
            ([0xDE, 0xF3, 0x72, 0xF0, 0x75, 0x72], "iso-8859-10", "\u{de}\u{f3}r\u{f0}ur"),
            ([0xF0, 0xFE], "iso-8859-14", "\u{175}\u{177}"),
            ([0xBA, 0xA4], "iso-8859-16", "\u{219}\u{20ac}"),
            ([0xEB, 0xC9, 0xA7, 0xD7], "koi8-u", "\u{41a}\u{438}\u{457}\u{432}"),
            ([0x8F, 0xE0, 0xA8, 0xA2, 0xA5, 0xE2], "ibm866", "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
            ([0x63, 0x61, 0x66, 0x8E], "macintosh", "caf\u{e9}"),
            ([0x8F, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "x-mac-cyrillic", "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
            ([0x8F, 0xE0, 0xA8, 0xA2, 0xA5, 0xE2], "ibm866", "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
            (
                [0x93, 0xFA, 0x96, 0x7B, 0x8C, 0xEA, 0x81, 0x41, 0x83, 0x4A, 0x83, 0x5E, 0x83, 0x4A, 0x83, 0x69],
                "shift_jis", "\u{65e5}\u{672c}\u{8a9e}\u{3001}\u{30ab}\u{30bf}\u{30ab}\u{30ca}"
            ),
            (
                [0xC6, 0xFC, 0xCB, 0xDC, 0xB8, 0xEC, 0xA1, 0xA2, 0xA5, 0xAB, 0xA5, 0xBF, 0xA5, 0xAB, 0xA5, 0xCA],
                "euc-jp", "\u{65e5}\u{672c}\u{8a9e}\u{3001}\u{30ab}\u{30bf}\u{30ab}\u{30ca}"
            ),
            (
                [
                    0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x38, 0x6C, 0x21, 0x22, 0x25, 0x2B, 0x25, 0x3F, 0x25,
                    0x2B, 0x25, 0x4A, 0x1B, 0x28, 0x42,
                ], "iso-2022-jp",
                "\u{65e5}\u{672c}\u{8a9e}\u{3001}\u{30ab}\u{30bf}\u{30ab}\u{30ca}"
            ),
            ([0xD6, 0xD0, 0xCE, 0xC4], "gbk", "\u{4e2d}\u{6587}"),
            ([0xD6, 0xD0, 0xCE, 0xC4], "gb18030", "\u{4e2d}\u{6587}"),
            ([0xA4, 0xA4, 0xA4, 0xE5], "big5", "\u{4e2d}\u{6587}"),
            ([0xD6, 0xD0, 0xCE, 0xC4], "gb2312", "\u{4e2d}\u{6587}"),
            ([0x95, 0x32, 0x82, 0x36, 0xD6, 0xD0], "gb18030", "\u{20000}\u{4e2d}"),
            ([0xC7, 0xD1, 0xB1, 0xB9, 0xBE, 0xEE], "euc-kr", "\u{d55c}\u{ad6d}\u{c5b4}"),
        ] as [([UInt8], String, String)])
    func `the charsets of the web are read [H5]`(bytes: [UInt8], label: String, text: String) {
        #expect(TextDecoding.decode(bytes, declared: label)?.text == text)
    }

    @Test(
        arguments: [
            ([0x81], "gbk"), ([0xFF, 0xFF], "gb18030"), ([0x81], "shift_jis"), ([0xFF], "euc-jp"), ([0x8E], "euc-jp"),
            ([0x1B, 0x24, 0x42, 0xFF, 0xFF], "iso-2022-jp"), ([0xA1], "big5"), ([0xC9, 0xFF], "euc-kr"),
            ([0xD2], "windows-1253"), ([0xA5], "iso-8859-3"),
        ] as [([UInt8], String)])
    func `what is cut or has no character is refused [H5]`(bytes: [UInt8], label: String) {
        #expect(TextDecoding.decode(bytes, declared: label) == nil)
    }

    @Test func `long text goes through the C library whole`() {
        let text = String(repeating: "\u{65e5}\u{672c}a", count: 50_000)
        let bytes = Array(repeating: [0x93, 0xFA, 0x96, 0x7B, 0x61] as [UInt8], count: 50_000).flatMap { $0 }
        // a comparison of its own, so that a failure does not print all of it
        let isWhole = TextDecoding.decode(bytes, wanted: "shift_jis")?.text == text
        #expect(isWhole)
        #expect(TextDecoding.decode([], wanted: "shift_jis")?.text == "")
    }

    @Test func `no bytes harm a decoder`() {
        var random = SeededRandom(seed: 11)
        for charset in Charset.allCases {
            for length in 0..<400 {
                let bytes = (0..<length % 40).map { _ in UInt8.random(in: 0...255, using: &random) }
                let decoded = TextDecoding.decode(bytes, wanted: charset.name)
                #expect(decoded.map { $0.charset == charset } ?? true)
            }
        }
    }

    private static let wide: Set<Charset> = [
        .utf8, .utf16le, .utf16be, .utf32le, .utf32be, .ascii, .gbk, .gb18030, .big5, .shiftJIS, .eucJP, .iso2022JP,
        .eucKR,
    ]

    @Test func `every byte of every single-byte charset has a character of its own, or none`() {
        for charset in Charset.allCases where !Self.wide.contains(charset) {
            let characters = (UInt8(0)...255).compactMap { TextDecoding.decode([$0], wanted: charset.name)?.text }
            #expect(characters.count >= 202, "\(charset)")
            #expect(Set(characters).count == characters.count, "\(charset)")
            #expect(characters.prefix(128).elementsEqual((UInt8(0)..<128).map { String(UnicodeScalar($0)) }))
        }
    }

    @Test func `no character of a table has changed`() {
        var (sum, missing) = (0, 0)
        for charset in Charset.allCases where charset != .latin1 && !Self.wide.contains(charset) {
            for byte in UInt8(0x80)...255 {
                let scalar = TextDecoding.decode([byte], wanted: charset.name)?.text.unicodeScalars.first
                if let scalar { sum += Int(scalar.value) * Int(byte) } else { missing += 1 }
            }
        }
        #expect(sum == 999_960_506 && missing == 114)
    }
}
