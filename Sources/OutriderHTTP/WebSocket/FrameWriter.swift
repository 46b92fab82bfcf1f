// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Writes frames of a client (RFC 6455 sections 5.2 and 5.3): the head and the masked payload in one buffer.
package enum FrameWriter {
    /// Appends a whole frame.
    ///
    /// - Parameters:
    ///   - isCompressed: sets RSV1.
    ///   - mask: a number that cannot be predicted, another for each frame.
    package static func append(
        _ opcode: FrameOpcode, _ payload: UnsafeRawBufferPointer, isCompressed: Bool = false, mask: UInt32,
        to output: inout [UInt8]
    ) {
        let count = payload.count
        output.append((isCompressed ? 0xC0 : 0x80) | opcode.rawValue)
        if count <= 125 {
            output.append(0x80 | UInt8(truncatingIfNeeded: count))
        } else if count <= 65535 {
            output.append(0x80 | 126)
            append(UInt64(count), bytes: 2, to: &output)
        } else {
            output.append(0x80 | 127)
            append(UInt64(count), bytes: 8, to: &output)
        }
        withUnsafeBytes(of: mask) { output.append(contentsOf: $0) }
        let start = output.count
        output.append(contentsOf: payload)
        output.withUnsafeMutableBytes { bytes in
            apply(mask, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    /// A Close frame; without a code its payload is empty.
    package static func appendClose(_ code: Int?, _ reason: String, mask: UInt32, to output: inout [UInt8]) {
        var payload: [UInt8] = []
        if let code {
            payload = [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
            payload.append(contentsOf: reason.utf8.prefix(CloseCode.longestReason))
        }
        payload.withUnsafeBytes { append(.close, $0, mask: mask, to: &output) }
    }

    /// Eight bytes at a time. The mask is used as it lies in memory, so that the order of bytes does not matter.
    static func apply(_ mask: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        let wide = UInt64(mask) << 32 | UInt64(mask)
        var index = 0
        while bytes.count &- index >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        withUnsafeBytes(of: mask) { key in
            while index < bytes.count {
                bytes[index] ^= key[index & 3]
                index &+= 1
            }
        }
    }

    /// The highest byte first.
    private static func append(_ value: UInt64, bytes: Int, to output: inout [UInt8]) {
        for index in (0..<bytes).reversed() { output.append(UInt8(truncatingIfNeeded: value >> (8 &* index))) }
    }
}
