// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Checks that bytes are UTF-8 (RFC 3629), in pieces of any length, and finds the first invalid byte.
///
/// Surrogates, overlong forms and code points above U+10FFFF are refused. ASCII is checked 256 bytes at a time, other text
/// 16.
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
                index = Self.skipASCII(bytes, from: Self.skipBlocks(bytes, from: index))
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

    /// Skips blocks that are valid and not ASCII alone, up to the end of a character. The three bytes before a byte
    /// decide which values are valid; so each byte is compared with every kind of fault, without a branch.
    private static func skipBlocks(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        typealias Block = SIMD16<UInt8>
        func load(_ place: Int) -> Block { bytes.loadUnaligned(fromByteOffset: place, as: Block.self) }
        func all(_ byte: UInt8) -> Block { Block(repeating: byte) }
        guard start >= 3, bytes.count &- start >= 16, bytes[start] >= 0x80 else { return start }
        var index = start
        while bytes.count &- index >= 16 {
            let (block, first, second, third) = (load(index), load(index &- 1), load(index &- 2), load(index &- 3))
            let continues = (block .>= all(0x80)) .& (block .< all(0xC0))
            let must = (first .>= all(0xC0)) .| (second .>= all(0xE0)) .| (third .>= all(0xF0))
            let never = (block .== all(0xC0)) .| (block .== all(0xC1)) .| (block .> all(0xF4))
            let overlong =
                ((first .== all(0xE0)) .& (block .< all(0xA0))) .| ((first .== all(0xF0)) .& (block .< all(0x90)))
            let beyond =
                ((first .== all(0xED)) .& (block .> all(0x9F))) .| ((first .== all(0xF4)) .& (block .> all(0x8F)))
            // `any` of a mask takes a hundred times as long
            let fault = unsafeBitCast((continues .^ must) .| never .| overlong .| beyond, to: SIMD2<UInt64>.self)
            guard fault[0] | fault[1] == 0 else { break }
            index &+= 16
            let words = unsafeBitCast(block, to: SIMD2<UInt64>.self)
            if (words[0] | words[1]) & 0x8080_8080_8080_8080 == 0 { break }
        }
        guard index > start else { return start }
        // the last character may go on
        if bytes[index &- 1] >= 0xC0 { return index &- 1 }
        if bytes[index &- 2] >= 0xE0 { return index &- 2 }
        return bytes[index &- 3] >= 0xF0 ? index &- 3 : index
    }

    private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while bytes.count &- index >= 256, isASCII(bytes, index, words: 32) { index &+= 256 }
        while bytes.count &- index >= 64, isASCII(bytes, index, words: 8) { index &+= 64 }
        while bytes.count &- index >= 8, isASCII(bytes, index, words: 1) { index &+= 8 }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer, _ start: Int, words: Int) -> Bool {
        var all: UInt64 = 0
        for word in 0..<words { all |= bytes.loadUnaligned(fromByteOffset: start &+ word &* 8, as: UInt64.self) }
        return all & 0x8080_8080_8080_8080 == 0
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
