// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A charset that text can be decoded from, by the names that the web uses (WHATWG Encoding section 4.2), and UTF-32.
package enum Charset: Sendable, Hashable, CaseIterable {
    case utf8, utf16le, utf16be, utf32le, utf32be
    /// Strictly seven bits.
    case ascii
    /// Every byte is the character of that number; not windows-1252, which the web reads under this name.
    case latin1
    case windows1252, windows1250, windows1251
    case latin2, cyrillic, latin9, koi8r
    case windows1253, windows1254, windows1255, windows1256, windows1257, windows1258, windows874
    case latin3, latin4, arabic, greek, hebrew, latin6, iso885913, iso885914, iso885916
    case koi8u, macintosh, macCyrillic, ibm866
    /// Decoded by the C library, if available there.
    case gbk, gb18030, big5, shiftJIS, eucJP, iso2022JP, eucKR

    /// The name that is reported.
    package var name: String {
        switch self {
        case .utf8: "utf-8"
        case .utf16le: "utf-16le"
        case .utf16be: "utf-16be"
        case .utf32le: "utf-32le"
        case .utf32be: "utf-32be"
        case .ascii: "us-ascii"
        case .latin1: "iso-8859-1"
        case .windows1252: "windows-1252"
        case .windows1250: "windows-1250"
        case .windows1251: "windows-1251"
        case .latin2: "iso-8859-2"
        case .cyrillic: "iso-8859-5"
        case .latin9: "iso-8859-15"
        case .koi8r: "koi8-r"
        case .windows1253: "windows-1253"
        case .windows1254: "windows-1254"
        case .windows1255: "windows-1255"
        case .windows1256: "windows-1256"
        case .windows1257: "windows-1257"
        case .windows1258: "windows-1258"
        case .windows874: "windows-874"
        case .latin3: "iso-8859-3"
        case .latin4: "iso-8859-4"
        case .arabic: "iso-8859-6"
        case .greek: "iso-8859-7"
        case .hebrew: "iso-8859-8"
        case .latin6: "iso-8859-10"
        case .iso885913: "iso-8859-13"
        case .iso885914: "iso-8859-14"
        case .iso885916: "iso-8859-16"
        case .koi8u: "koi8-u"
        case .macintosh: "macintosh"
        case .macCyrillic: "x-mac-cyrillic"
        case .ibm866: "ibm866"
        case .gbk: "gbk"
        case .gb18030: "gb18030"
        case .big5: "big5"
        case .shiftJIS: "shift_jis"
        case .eucJP: "euc-jp"
        case .iso2022JP: "iso-2022-jp"
        case .eucKR: "euc-kr"
        }
    }

    /// Nil for unknown charsets. Case and surrounding space are ignored.
    package init?(label: String) {
        let trimmed = FieldRules.trimmed(label[...])
        guard trimmed.utf8.count <= 20, let found = Self.labels[trimmed.lowercased()] else { return nil }
        self = found
    }

    /// The same for a body that begins with that byte order mark: a label of UTF-16 or UTF-32 without an order leaves
    /// the order to the mark (RFC 2781 section 3.3).
    package init?(label: String, mark: Charset?) {
        guard let named = Charset(label: label) else { return nil }
        let namesOrder = FieldRules.trimmed(label[...]).lowercased().hasSuffix("le")
        switch (named, mark) {
        case (.utf16le, .utf16be?) where !namesOrder: self = .utf16be
        case (.utf32le, .utf32be?) where !namesOrder: self = .utf32be
        default: self = named
        }
    }

    /// The byte order marks (Unicode 15 section 23.8). Of two that fit, the later counts.
    ///
    /// - Parameter label: of the body; the mark of UTF-32LE begins with that of UTF-16LE.
    static func marks(_ label: String?) -> ArraySlice<(bytes: [UInt8], charset: Charset)> {
        switch label.flatMap({ Charset(label: $0) }) {
        case .utf16le?, .utf16be?: allMarks.prefix(3)
        default: allMarks[...]
        }
    }

    private static let allMarks: [(bytes: [UInt8], charset: Charset)] = [
        ([0xEF, 0xBB, 0xBF], .utf8), ([0xFF, 0xFE], .utf16le), ([0xFE, 0xFF], .utf16be),
        ([0xFF, 0xFE, 0, 0], .utf32le), ([0, 0, 0xFE, 0xFF], .utf32be),
    ]

    private static let labels: [String: Charset] = [
        "utf-8": .utf8, "utf8": .utf8, "unicode-1-1-utf-8": .utf8,
        "utf-16": .utf16le, "utf16": .utf16le, "utf-16le": .utf16le, "ucs-2": .utf16le, "unicode": .utf16le,
        "iso-10646-ucs-2": .utf16le, "unicode-1-1": .utf16le, "csunicode": .utf16le, "unicodefeff": .utf16le,
        "utf-16be": .utf16be, "unicodefffe": .utf16be,
        "utf-32": .utf32le, "utf32": .utf32le, "utf-32le": .utf32le, "ucs-4": .utf32le, "iso-10646-ucs-4": .utf32le,
        "csutf32": .utf32le, "csutf32le": .utf32le, "utf-32be": .utf32be, "csutf32be": .utf32be,
        "us-ascii": .ascii, "ascii": .ascii, "ansi_x3.4-1968": .ascii, "iso646-us": .ascii,
        "iso-8859-1": .latin1, "iso8859-1": .latin1, "iso_8859-1": .latin1, "latin1": .latin1, "latin-1": .latin1,
        "l1": .latin1,
        "windows-1252": .windows1252, "cp1252": .windows1252, "x-cp1252": .windows1252,
        "windows-1250": .windows1250, "cp1250": .windows1250, "x-cp1250": .windows1250,
        "windows-1251": .windows1251, "cp1251": .windows1251, "x-cp1251": .windows1251,
        "iso-8859-2": .latin2, "iso8859-2": .latin2, "iso_8859-2": .latin2, "latin2": .latin2, "l2": .latin2,
        "iso-8859-5": .cyrillic, "iso8859-5": .cyrillic, "iso_8859-5": .cyrillic, "cyrillic": .cyrillic,
        "iso-8859-15": .latin9, "iso8859-15": .latin9, "iso_8859-15": .latin9, "latin9": .latin9, "l9": .latin9,
        "koi8-r": .koi8r, "koi8": .koi8r, "koi": .koi8r, "koi8_r": .koi8r,
        "windows-1253": .windows1253, "cp1253": .windows1253, "x-cp1253": .windows1253,
        "windows-1254": .windows1254, "cp1254": .windows1254, "x-cp1254": .windows1254, "iso-8859-9": .windows1254,
        "iso8859-9": .windows1254, "iso_8859-9": .windows1254, "latin5": .windows1254, "l5": .windows1254,
        "windows-1255": .windows1255, "cp1255": .windows1255, "x-cp1255": .windows1255,
        "windows-1256": .windows1256, "cp1256": .windows1256, "x-cp1256": .windows1256,
        "windows-1257": .windows1257, "cp1257": .windows1257, "x-cp1257": .windows1257,
        "windows-1258": .windows1258, "cp1258": .windows1258, "x-cp1258": .windows1258,
        "windows-874": .windows874, "tis-620": .windows874, "iso-8859-11": .windows874, "dos-874": .windows874,
        "iso-8859-3": .latin3, "iso8859-3": .latin3, "iso_8859-3": .latin3, "latin3": .latin3, "l3": .latin3,
        "iso-8859-4": .latin4, "iso8859-4": .latin4, "iso_8859-4": .latin4, "latin4": .latin4, "l4": .latin4,
        "iso-8859-6": .arabic, "iso8859-6": .arabic, "iso_8859-6": .arabic, "arabic": .arabic, "asmo-708": .arabic,
        "iso-8859-7": .greek, "iso8859-7": .greek, "iso_8859-7": .greek, "greek": .greek, "elot_928": .greek,
        "iso-8859-8": .hebrew, "iso8859-8": .hebrew, "iso_8859-8": .hebrew, "hebrew": .hebrew, "iso-8859-8-i": .hebrew,
        "iso-8859-10": .latin6, "iso8859-10": .latin6, "latin6": .latin6, "l6": .latin6,
        "iso-8859-13": .iso885913, "iso8859-13": .iso885913, "iso-8859-14": .iso885914, "iso8859-14": .iso885914,
        "iso-8859-16": .iso885916, "koi8-u": .koi8u, "koi8-ru": .koi8u,
        "macintosh": .macintosh, "mac": .macintosh, "x-mac-roman": .macintosh,
        "x-mac-cyrillic": .macCyrillic, "x-mac-ukrainian": .macCyrillic,
        "ibm866": .ibm866, "cp866": .ibm866, "866": .ibm866, "csibm866": .ibm866,
        "gbk": .gbk, "gb2312": .gbk, "gb_2312": .gbk, "gb_2312-80": .gbk, "chinese": .gbk, "x-gbk": .gbk,
        "gb18030": .gb18030,
        "big5": .big5, "big5-hkscs": .big5, "cn-big5": .big5, "csbig5": .big5, "x-x-big5": .big5,
        "shift_jis": .shiftJIS, "shift-jis": .shiftJIS, "sjis": .shiftJIS, "x-sjis": .shiftJIS, "ms_kanji": .shiftJIS,
        "windows-31j": .shiftJIS, "csshiftjis": .shiftJIS, "ms932": .shiftJIS,
        "euc-jp": .eucJP, "x-euc-jp": .eucJP, "iso-2022-jp": .iso2022JP, "csiso2022jp": .iso2022JP,
        "euc-kr": .eucKR, "korean": .eucKR, "ks_c_5601-1987": .eucKR, "ksc5601": .eucKR, "ksc_5601": .eucKR,
        "windows-949": .eucKR, "cseuckr": .eucKR,
    ]
}
