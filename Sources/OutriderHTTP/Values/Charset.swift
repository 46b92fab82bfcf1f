// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A charset that text can be decoded from, by the names that the web uses (WHATWG Encoding section 4.2).
package enum Charset: Sendable, Hashable, CaseIterable {
    case utf8, utf16le, utf16be
    /// Strictly seven bits.
    case ascii
    /// Every byte is the character of that number; not windows-1252, which the web reads under this name.
    case latin1
    case windows1252, windows1250, windows1251
    case latin2, cyrillic, latin9, koi8r

    /// The name that is reported.
    package var name: String {
        switch self {
        case .utf8: "utf-8"
        case .utf16le: "utf-16le"
        case .utf16be: "utf-16be"
        case .ascii: "us-ascii"
        case .latin1: "iso-8859-1"
        case .windows1252: "windows-1252"
        case .windows1250: "windows-1250"
        case .windows1251: "windows-1251"
        case .latin2: "iso-8859-2"
        case .cyrillic: "iso-8859-5"
        case .latin9: "iso-8859-15"
        case .koi8r: "koi8-r"
        }
    }

    /// Nil for charsets that are not known here. Case and space around the label do not matter.
    package init?(label: String) {
        let trimmed = FieldRules.trimmed(label[...])
        guard trimmed.utf8.count <= 20, let found = Self.labels[trimmed.lowercased()] else { return nil }
        self = found
    }

    private static let labels: [String: Charset] = [
        "utf-8": .utf8, "utf8": .utf8, "unicode-1-1-utf-8": .utf8,
        "utf-16": .utf16le, "utf16": .utf16le, "utf-16le": .utf16le, "ucs-2": .utf16le, "unicode": .utf16le,
        "utf-16be": .utf16be, "unicodefffe": .utf16be,
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
    ]
}
