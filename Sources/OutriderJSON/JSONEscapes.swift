// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The escapes of JSON strings (RFC 8259 section 7).
enum JSONEscapes {
    /// Decodes the text between the quotes of a string to UTF-8, piece by piece, without allocation.
    ///
    /// The text should have passed JSONScanner. In other texts, an invalid escape ends the output.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ emit: (UnsafeBufferPointer<UInt8>) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { piece in
            defer { SecretBuffer.erase(UnsafeMutableRawBufferPointer(piece)) }
            var position = 0
            while position < bytes.count {
                let plain = bytes[position...].prefix { $0 != UInt8(ascii: "\\") }
                if !plain.isEmpty { emit(UnsafeBufferPointer(rebasing: plain)) }
                position = plain.endIndex
                let count = escapes(bytes, &position, piece)
                if count > 0 { emit(UnsafeBufferPointer(rebasing: piece.prefix(count))) }
            }
        }
    }

    /// Decodes the escapes at the position that follow one another, while there is room; returns the bytes in the piece.
    private static func escapes(
        _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ piece: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var count = 0
        while count <= piece.count - 4, position < bytes.count, bytes[position] == UInt8(ascii: "\\") {
            guard position + 1 < bytes.count, let scalar = scalar(bytes, &position) else {
                position = bytes.count
                break
            }
            for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                piece.initializeElement(at: count, to: unit)
                count += 1
            }
        }
        return count
    }

    /// The scalar of the escape at the position, which moves past the escape.
    private static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Unicode.Scalar? {
        let byte = bytes[position + 1]
        position += 2
        switch byte {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = hex(bytes, &position) else { return nil }
            guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
            guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\") else { return nil }
            position += 2
            guard let low = hex(bytes, &position), UTF16.isTrailSurrogate(low) else { return nil }
            return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(low & 0x3FF)))
        default: return Unicode.Scalar(byte)
        }
    }

    private static func hex(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> UInt16? {
        guard bytes.count - position >= 4 else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[position..<position + 4] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte &- 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte &- 0x57)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte &- 0x37)
            default: return nil
            }
        }
        position += 4
        return unit
    }
}
