// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Encodes text strictly: a character without an encoding in the charset is never replaced.
package enum TextEncoding {
    /// Throws `parameterEncoderFailed`, pointing at the charset or at the text.
    package static func encode(
        _ text: String, charset label: String, textPointer: String, charsetPointer: String
    ) throws(HTTPFailure) -> [UInt8] {
        guard let charset = Charset(label: label) else {
            throw HTTPFailure(
                .parameterEncoderFailed, "the charset \(FieldRules.shown(label)) is not known: use utf-8",
                pointer: charsetPointer)
        }
        if charset == .utf8 { return Array(text.utf8) }
        if let bytes = wide(text, charset) { return bytes }
        guard let table = tables[charset] else {
            throw HTTPFailure(
                .parameterEncoderFailed, "text can be read as \(charset.name) but not sent so: use utf-8",
                pointer: charsetPointer)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for (index, scalar) in text.unicodeScalars.enumerated() {
            if scalar.value < 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if let byte = table[scalar] {
                bytes.append(byte)
            } else {
                throw HTTPFailure(
                    .parameterEncoderFailed,
                    "character \(index + 1) of the text does not exist in \(charset.name): use utf-8",
                    pointer: textPointer)
            }
        }
        return bytes
    }

    /// In UTF-16 or UTF-32; nil for another charset.
    static func wide(_ text: String, _ charset: Charset) -> [UInt8]? {
        switch charset {
        case .utf16le: text.utf16.flatMap { bytes(of: UInt32(truncatingIfNeeded: $0), 2, lowFirst: true) }
        case .utf16be: text.utf16.flatMap { bytes(of: UInt32(truncatingIfNeeded: $0), 2, lowFirst: false) }
        case .utf32le: text.unicodeScalars.flatMap { bytes(of: $0.value, 4, lowFirst: true) }
        case .utf32be: text.unicodeScalars.flatMap { bytes(of: $0.value, 4, lowFirst: false) }
        default: nil
        }
    }

    /// The lowest bytes of a code unit.
    private static func bytes(of unit: UInt32, _ count: UInt32, lowFirst: Bool) -> [UInt8] {
        (0..<count).map { place in
            UInt8(truncatingIfNeeded: unit >> ((lowFirst ? place : count - 1 - place) * 8))
        }
    }

    /// For each charset of single bytes, the bytes above 0x7F by the characters that they are read as.
    private static let tables: [Charset: [Unicode.Scalar: UInt8]] = {
        var tables: [Charset: [Unicode.Scalar: UInt8]] = [.ascii: [:]]
        for charset in Charset.allCases where ![.ascii, .utf8, .utf16le, .utf16be].contains(charset) {
            var table: [Unicode.Scalar: UInt8] = [:]
            for byte in UInt8(0x80)...0xFF {
                guard let decoded = TextDecoding.decode([byte], wanted: charset.name)?.text.unicodeScalars,
                    decoded.count == 1, let scalar = decoded.first, table[scalar] == nil
                else { continue }
                table[scalar] = byte
            }
            // bytes that mean nothing alone belong to a multi-byte charset
            if table.count > 80 { tables[charset] = table }
        }
        return tables
    }()
}
