// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Checks that bytes are UTF-8 (RFC 3629), in pieces of any length, and finds the first invalid byte.
///
/// Surrogates, overlong forms and code points above U+10FFFF are refused. ASCII is checked 64 bytes at a time.
package struct UTF8Validator: Sendable {
    /// Continuation bytes that the current character still needs.
    private var missing: UInt8 = 0
    /// The range of the next continuation byte.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end with a whole character.
    package var isComplete: Bool { missing == 0 }

    /// Takes the next bytes. False if one of them cannot follow those before.
    package mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        let count = bytes.count
        while index < count {
            if missing == 0 {
                index = Self.skipASCII(bytes, from: index)
                guard index < count else { return true }
                guard begin(bytes[index]) else { return false }
            } else {
                let byte = bytes[index]
                guard byte >= lowest, byte <= highest else { return false }
                missing &-= 1
                (lowest, highest) = (0x80, 0xBF)
            }
            index &+= 1
        }
        return true
    }

    private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while bytes.count &- index >= 64 {
            var all: UInt64 = 0
            for word in 0..<8 {
                all |= bytes.loadUnaligned(fromByteOffset: index &+ word &* 8, as: UInt64.self)
            }
            guard all & 0x8080_8080_8080_8080 == 0 else { break }
            index &+= 64
        }
        while bytes.count &- index >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            index &+= 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    /// The first byte of a character that is not ASCII.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }
}
