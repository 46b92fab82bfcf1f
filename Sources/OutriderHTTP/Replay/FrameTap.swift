// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the messages in the frames of one side of a WebSocket (RFC 6455), masked or not, uncompressed.
package struct FrameTap: Sendable {
    /// Bytes that one message may have.
    private static let most = 64 << 20

    private var bytes: [UInt8] = []
    private var message: (opcode: UInt8, bytes: [UInt8])?
    /// The frames make no sense: nothing more is found.
    private var isBroken = false

    package init() {}

    /// The messages and control frames that are complete, in order: opcode and payload.
    package mutating func feed(_ more: some Sequence<UInt8>) -> [(opcode: UInt8, bytes: [UInt8])] {
        guard !isBroken else { return [] }
        bytes.append(contentsOf: more)
        var found: [(opcode: UInt8, bytes: [UInt8])] = []
        var position = 0
        while let frame = frame(at: position) {
            position = frame.end
            if frame.opcode >= 8 {
                found.append((frame.opcode, frame.payload))
                continue
            }
            var whole = message ?? (frame.opcode, [])
            // the only reference, so that fragments are added in place
            message = nil
            whole.bytes += frame.payload
            if whole.bytes.count > Self.most { isBroken = true }
            if frame.isFinal { found.append(whole) } else { message = whole }
        }
        bytes.removeFirst(position)
        if bytes.count > Self.most { isBroken = true }
        if isBroken { bytes = [] }
        return found
    }

    private struct Frame {
        var opcode: UInt8
        var isFinal: Bool
        var payload: [UInt8]
        var end: Int
    }

    private func frame(at start: Int) -> Frame? {
        guard bytes.count - start >= 2 else { return nil }
        let (first, second) = (bytes[start], bytes[start + 1])
        let extra = second & 0x7F == 127 ? 8 : second & 0x7F == 126 ? 2 : 0
        var position = start + 2
        guard bytes.count >= position + extra else { return nil }
        var length = UInt64(second & 0x7F)
        if extra > 0 { length = bytes[position..<position + extra].reduce(0) { $0 << 8 | UInt64($1) } }
        position += extra
        let isMasked = second & 0x80 != 0
        let mask = isMasked ? Array(bytes[position...].prefix(4)) : []
        if isMasked {
            guard mask.count == 4 else { return nil }
            position += 4
        }
        guard length <= UInt64(Self.most), bytes.count - position >= Int(length) else { return nil }
        let end = position + Int(length)  // safe: checked above
        var payload = Array(bytes[position..<end])
        if isMasked { for index in payload.indices { payload[index] ^= mask[index & 3] } }
        return Frame(opcode: first & 0x0F, isFinal: first & 0x80 != 0, payload: payload, end: end)
    }

    /// A frame as a server sends it.
    package static func serverFrame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = [0x80 | opcode]
        let count = payload.count
        if count <= 125 {
            frame.append(UInt8(truncatingIfNeeded: count))
        } else if count <= 65535 {
            frame += [126, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        } else {
            frame.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        }
        return frame + payload
    }
}
