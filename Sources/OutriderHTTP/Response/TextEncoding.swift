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
        switch charset {
        case .utf8: return Array(text.utf8)
        case .utf16le:
            return text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        case .utf16be:
            return text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        default: break
        }
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
