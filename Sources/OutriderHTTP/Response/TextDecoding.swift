// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes to text.
package struct DecodedText: Sendable, Equatable {
    package var text: String
    package var charset: Charset

    package init(text: String, charset: Charset) {
        self.text = text
        self.charset = charset
    }
}

/// Finds the charset of a body and decodes it, strictly: text that comes out is exactly what was sent.
package enum TextDecoding {
    /// The charset wanted by the caller wins, then a byte order mark, then the declared one, then UTF-8. A byte order mark
    /// is not part of the text.
    ///
    /// Nil when the bytes are not in that charset, or the charset is not known: nothing is replaced or guessed.
    package static func decode(_ bytes: [UInt8], wanted: String? = nil, declared: String? = nil) -> DecodedText? {
        let mark = byteOrderMark(bytes)
        let charset: Charset
        if let wanted {
            guard let known = Charset(label: wanted) else { return nil }
            charset = known
        } else if let mark {
            charset = mark.charset
        } else if let declared {
            guard let known = Charset(label: declared) else { return nil }
            charset = known
        } else {
            charset = .utf8
        }
        let skipped = mark?.charset == charset ? mark?.length ?? 0 : 0
        return text(of: bytes[skipped...], charset).map { DecodedText(text: $0, charset: charset) }
    }

    private static func byteOrderMark(_ bytes: [UInt8]) -> (charset: Charset, length: Int)? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if bytes.starts(with: [0xFF, 0xFE]) { return (.utf16le, 2) }
        if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16be, 2) }
        return nil
    }

    private static func text(of bytes: ArraySlice<UInt8>, _ charset: Charset) -> String? {
        switch charset {
        case .utf8: String(validating: bytes, as: UTF8.self)
        case .ascii: bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case .utf16le: utf16(bytes, highFirst: false)
        case .utf16be: utf16(bytes, highFirst: true)
        case .latin1: singleByte(bytes, nil)
        case .windows1252: singleByte(bytes, SingleByteTables.windows1252)
        case .windows1250: singleByte(bytes, SingleByteTables.windows1250)
        case .windows1251: singleByte(bytes, SingleByteTables.windows1251)
        case .latin2: singleByte(bytes, SingleByteTables.latin2)
        case .cyrillic: singleByte(bytes, SingleByteTables.cyrillic)
        case .latin9: singleByte(bytes, SingleByteTables.latin9)
        case .koi8r: singleByte(bytes, SingleByteTables.koi8r)
        }
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>, highFirst: Bool) -> String? {
        guard bytes.count % 2 == 0 else { return nil }
        let start = bytes.startIndex
        let units = (0..<bytes.count / 2).lazy.map { index in
            let first = UInt16(bytes[start + 2 * index])
            let second = UInt16(bytes[start + 2 * index + 1])
            return highFirst ? first << 8 | second : second << 8 | first
        }
        return String(validating: units, as: UTF16.self)
    }

    /// Without a table every byte is the character of its number.
    private static func singleByte(_ bytes: ArraySlice<UInt8>, _ table: [UInt16]?) -> String? {
        String(
            decoding: bytes.lazy.map { byte in
                byte < 0x80 ? UInt16(byte) : table.map { $0[Int(byte & 0x7F)] } ?? UInt16(byte)
            }, as: UTF16.self)
    }
}
