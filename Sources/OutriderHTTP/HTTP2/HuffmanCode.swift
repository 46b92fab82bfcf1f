// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B).
///
/// The code is canonical, so the lengths determine all codes: codes of equal length follow each other in symbol order.
enum HuffmanCode {
    /// Bits of the code of each byte, and of EOS.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]

    /// For each byte its code in the upper 32 bits, and its length in bits in the lower ones.
    private static let codes: [UInt64] = {
        var codes = [UInt64](repeating: 0, count: lengths.count)
        var code: UInt64 = 0
        var last = 0
        for length in 5...30 {
            code <<= UInt64(truncatingIfNeeded: length - last)
            last = length
            for (symbol, its) in lengths.enumerated() where Int(truncatingIfNeeded: its) == length {
                codes[symbol] = code << 32 | UInt64(truncatingIfNeeded: length)
                code += 1
            }
        }
        return codes
    }()

    // the effect of a nibble: the next node in the low byte, an output byte above, and three flags
    private static let emits: UInt32 = 1 << 16
    /// A string may end here: the rest of the last byte is shorter than a byte, and a prefix of EOS.
    private static let accepts: UInt32 = 1 << 17
    private static let fails: UInt32 = 1 << 18

    /// Sixteen steps for each of the 256 inner nodes of the tree. A nibble completes at most a single symbol, since all
    /// codes are longer than four bits.
    private static let steps: [UInt32] = {
        var children = [[Int]](repeating: [-1, -1], count: 1)
        for symbol in lengths.indices {
            var node = 0
            let length = Int(lengths[symbol])
            for bit in 0..<length {
                let branch = Int(
                    truncatingIfNeeded: codes[symbol] >> UInt64(truncatingIfNeeded: 32 + length - 1 - bit) & 1)
                if bit == length - 1 {
                    children[node][branch] = 1 << 16 | symbol
                } else if children[node][branch] >= 0 {
                    node = children[node][branch]
                } else {
                    children.append([-1, -1])
                    children[node][branch] = children.count - 1
                    node = children.count - 1
                }
            }
        }
        var accepting = Set([0])
        var node = 0
        for _ in 0..<7 {
            node = children[node][1]
            accepting.insert(node)
        }
        return (0..<children.count * 16).map { step(children, from: $0 >> 4, nibble: $0 & 15, accepting) }
    }()

    private static func step(_ children: [[Int]], from: Int, nibble: Int, _ accepting: Set<Int>) -> UInt32 {
        var node = from
        var entry: UInt32 = 0
        for bit in [8, 4, 2, 1] {
            let next = children[node][nibble & bit == 0 ? 0 : 1]
            guard next >= 0, next != 1 << 16 | 256 else { return fails }
            if next >= 1 << 16 {
                entry |= emits | UInt32(truncatingIfNeeded: next & 0xFF) << 8
                node = 0
            } else {
                node = next
            }
        }
        return entry | UInt32(truncatingIfNeeded: node) | (accepting.contains(node) ? accepts : 0)
    }

    /// The most decoded bytes for a number of coded bytes.
    static func mostDecoded(_ coded: Int) -> Int { coded + coded / 2 + coded / 8 + 2 }

    /// Decodes into memory with room for `mostDecoded`. Returns the number of bytes; nil for an invalid code or a wrong
    /// end.
    static func decode(_ coded: UnsafeRawBufferPointer, into memory: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        guard memory.count >= mostDecoded(coded.count) else { return nil }
        return steps.withUnsafeBufferPointer { steps in
            var written = 0
            var entry = accepts
            for byte in coded {
                entry = steps[Int(truncatingIfNeeded: entry & 0xFF) << 4 | Int(truncatingIfNeeded: byte >> 4)]
                if entry & (emits | fails) != 0 {
                    if entry & fails != 0 { return nil }
                    memory[written] = UInt8(truncatingIfNeeded: entry >> 8)
                    written += 1
                }
                entry = steps[Int(truncatingIfNeeded: entry & 0xFF) << 4 | Int(truncatingIfNeeded: byte & 15)]
                if entry & (emits | fails) != 0 {
                    if entry & fails != 0 { return nil }
                    memory[written] = UInt8(truncatingIfNeeded: entry >> 8)
                    written += 1
                }
            }
            return entry & accepts != 0 ? written : nil
        }
    }

    /// Bytes of the code of a text.
    static func size(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        codes.withUnsafeBufferPointer { codes in
            var bits: UInt64 = 0
            for byte in text { bits &+= codes[Int(byte)] & 0xFF }
            return Int(truncatingIfNeeded: (bits + 7) >> 3)
        }
    }

    /// Writes the code of a text into memory that has room for its size.
    static func encode(_ text: UnsafeBufferPointer<UInt8>, into memory: UnsafeMutableBufferPointer<UInt8>) {
        codes.withUnsafeBufferPointer { codes in
            let raw = UnsafeMutableRawBufferPointer(memory)
            var held: UInt64 = 0
            var bits: UInt64 = 0
            var written = 0
            for byte in text {
                let code = codes[Int(byte)]
                held = held &<< (code & 0xFF) | code &>> 32
                bits &+= code & 0xFF
                // fewer than 32 bits are left over, and no code has more than 30
                if bits >= 32, written + 4 <= raw.count {
                    bits &-= 32
                    let word = UInt32(truncatingIfNeeded: held &>> bits)
                    raw.storeBytes(of: word.bigEndian, toByteOffset: written, as: UInt32.self)
                    written += 4
                }
            }
            while bits >= 8, written < memory.count {
                bits &-= 8
                memory[written] = UInt8(truncatingIfNeeded: held &>> bits)
                written += 1
            }
            // the end is filled with the beginning of EOS, which is all ones
            guard bits > 0, bits < 8, written < memory.count else { return }
            memory[written] = UInt8(truncatingIfNeeded: held &<< (8 - bits) | (0xFF &>> bits))
        }
    }
}
