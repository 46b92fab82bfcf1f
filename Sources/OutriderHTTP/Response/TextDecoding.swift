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

/// Finds the charset of a body and decodes strictly: the text is exactly the sent text.
package enum TextDecoding {
    /// The caller's charset wins, then a byte order mark, then the declared charset, then the fallback, then UTF-8. A
    /// byte order mark is not part of the text. With a fallback, an unknown declared charset is ignored.
    ///
    /// Nil if the bytes are invalid in that charset, or the charset is unknown: no byte is replaced or guessed.
    package static func decode(
        _ bytes: [UInt8], wanted: String? = nil, declared: String? = nil, fallback: String? = nil
    ) -> DecodedText? {
        let mark = Charset.marks(wanted ?? declared).last(where: { bytes.starts(with: $0.bytes) })
        let charset: Charset
        if let wanted {
            guard let known = Charset(label: wanted, mark: mark?.charset) else { return nil }
            charset = known
        } else if let mark {
            charset = mark.charset
        } else if let declared, let known = Charset(label: declared) {
            charset = known
        } else if let fallback {
            guard let known = Charset(label: fallback) else { return nil }
            charset = known
        } else if declared != nil {
            return nil
        } else {
            charset = .utf8
        }
        let skipped = mark?.charset == charset ? mark?.bytes.count ?? 0 : 0
        return text(of: bytes[skipped...], charset).map { DecodedText(text: $0, charset: charset) }
    }

    static func text(of bytes: ArraySlice<UInt8>, _ charset: Charset) -> String? {
        switch charset {
        case .utf8: String(validating: bytes, as: UTF8.self)
        case .ascii: bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case .utf16le: utf16(bytes, highFirst: false)
        case .utf16be: utf16(bytes, highFirst: true)
        case .utf32le: utf32(bytes, highFirst: false)
        case .utf32be: utf32(bytes, highFirst: true)
        case .latin1: singleByte(bytes, nil)
        default: other(bytes, charset)
        }
    }

    private static func other(_ bytes: ArraySlice<UInt8>, _ charset: Charset) -> String? {
        if let name = charset.systemName { return Iconv.decode(bytes, from: name) }
        return SingleByteTables.table(of: charset).flatMap { singleByte(bytes, $0) }
    }

    /// Whether decoding may load code from the disk, which is not for an event loop.
    package static func mayBlock(_ label: String) -> Bool {
        Charset(label: label)?.systemName != nil
    }

    /// Checks that surrogates are paired. Written by hand, because the library takes fifty times as long.
    static func utf16(_ bytes: ArraySlice<UInt8>, highFirst: Bool) -> String? {
        guard bytes.count % 2 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 2)
        let (high, low) = highFirst ? (0, 1) : (1, 0)
        var lead: UInt32?
        for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 2) {
            let unit = UInt32(bytes[index + high]) << 8 | UInt32(bytes[index + low])
            if let first = lead {
                guard (0xDC00..<0xE000).contains(unit) else { return nil }
                append(0x10000 &+ (first &- 0xD800) << 10 &+ (unit &- 0xDC00), to: &output)
                lead = nil
            } else if (0xD800..<0xDC00).contains(unit) {
                lead = unit
            } else if (0xDC00..<0xE000).contains(unit) {
                return nil
            } else {
                append(unit, to: &output)
            }
        }
        return lead == nil ? String(decoding: output, as: UTF8.self) : nil
    }

    /// Refuses surrogates, and numbers above U+10FFFF (Unicode 15 section 3.10).
    private static func utf32(_ bytes: ArraySlice<UInt8>, highFirst: Bool) -> String? {
        guard bytes.count % 4 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count / 2)
        for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 4) {
            guard let scalar = Unicode.Scalar(number(bytes, at: index, highFirst: highFirst)) else { return nil }
            append(scalar.value, to: &output)
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The code unit of UTF-32 at the index.
    static func number(_ bytes: ArraySlice<UInt8>, at index: Int, highFirst: Bool) -> UInt32 {
        var number: UInt32 = 0
        for place in 0..<4 { number = number << 8 | UInt32(bytes[index + (highFirst ? place : 3 - place)]) }
        return number
    }

    /// Without a table every byte is the character of its number. U+FFFD in a table is no character.
    private static func singleByte(_ bytes: ArraySlice<UInt8>, _ table: [UInt16]?) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 2)
        for byte in bytes {
            if byte < 0x80 {
                output.append(byte)
            } else {
                let scalar = table.map { UInt32($0[Int(byte & 0x7F)]) } ?? UInt32(byte)
                if scalar == 0xFFFD { return nil }
                append(scalar, to: &output)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends a scalar as UTF-8 (RFC 3629 section 3).
    private static func append(_ scalar: UInt32, to output: inout [UInt8]) {
        let tail = { (shift: UInt32) in UInt8(truncatingIfNeeded: scalar >> shift & 0x3F | 0x80) }
        switch scalar {
        case 0..<0x80: output.append(UInt8(truncatingIfNeeded: scalar))
        case 0x80..<0x800:
            output.append(UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0))
            output.append(tail(0))
        case 0x800..<0x10000:
            output.append(UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0))
            output.append(tail(6))
            output.append(tail(0))
        default:
            output.append(UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0))
            output.append(tail(12))
            output.append(tail(6))
            output.append(tail(0))
        }
    }
}
