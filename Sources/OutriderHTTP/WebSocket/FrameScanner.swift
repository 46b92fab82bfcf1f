// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The kinds of frames (RFC 6455 section 5.2).
package enum FrameOpcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    package var isControl: Bool { rawValue >= 8 }

    /// The kind of a record with a message of this kind.
    var recordKind: MessageRecord.Kind { self == .text ? .text : .binary }
}

/// The head of a frame from a server.
package struct FrameHead: Sendable, Equatable {
    package var isFinal: Bool
    /// The three reserved bits: 4 is RSV1, "compressed" with permessage-deflate.
    package var reserved: UInt8
    package var opcode: FrameOpcode
    /// Bytes of the payload.
    package var length: Int
}

/// Finds the heads of frames in bytes that arrive in pieces (RFC 6455 section 5.2).
///
/// Refuses masked frames, unknown opcodes, control frames that are fragmented or longer than 125 bytes, lengths that
/// are not in their shortest form, and lengths of 2^63 and more. Reserved bits depend on the agreement:
/// `WebSocketMachine` checks them.
package struct FrameScanner: Sendable {
    /// The longest head of an unmasked frame.
    private static let mostBytes = 10

    /// The beginning of a head that was cut off, its first byte lowest.
    private var held = SIMD16<UInt8>()
    private var heldCount = 0

    package init() {}

    /// Whether a head has begun, and is not complete.
    package var isWithinHead: Bool { heldCount > 0 }

    /// Takes the head that begins at the index, and moves the index behind it. Nil if more bytes are needed.
    package mutating func head(
        in bytes: UnsafeRawBufferPointer, at index: inout Int
    ) throws(WebSocketFault) -> FrameHead? {
        if heldCount == 0, bytes.count &- index >= Self.mostBytes {
            let start = index
            let (head, count) = try Self.parse(count: Self.mostBytes) { bytes[start &+ $0] }
            index &+= count
            return head
        }
        while index < bytes.count {
            held[heldCount] = bytes[index]
            heldCount &+= 1
            index &+= 1
            let held = held
            let (head, _) = try Self.parse(count: heldCount) { held[$0] }
            if let head {
                heldCount = 0
                return head
            }
        }
        return nil
    }

    /// The head in so many bytes, and its length; nil if it needs more.
    private static func parse(
        count: Int, _ byte: (Int) -> UInt8
    ) throws(WebSocketFault) -> (FrameHead?, Int) {
        let first = byte(0)
        guard let opcode = FrameOpcode(rawValue: first & 0x0F) else {
            throw .broken("a frame has the unknown opcode \(first & 0x0F)")
        }
        let isFinal = first & 0x80 != 0
        if opcode.isControl, !isFinal { throw .broken("a control frame is fragmented") }
        guard count >= 2 else { return (nil, 0) }
        let second = byte(1)
        if second & 0x80 != 0 { throw .broken("a frame from the server is masked") }
        let short = Int(second & 0x7F)
        if opcode.isControl, short > 125 { throw .broken("a control frame is longer than 125 bytes") }
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        guard count >= 2 &+ extra else { return (nil, 0) }
        let length = try Self.length(short, extra, byte)
        let head = FrameHead(isFinal: isFinal, reserved: first >> 4 & 7, opcode: opcode, length: length)
        return (head, 2 &+ extra)
    }

    private static func length(_ short: Int, _ extra: Int, _ byte: (Int) -> UInt8) throws(WebSocketFault) -> Int {
        guard extra > 0 else { return short }
        var value: UInt64 = 0
        for index in 0..<extra { value = value << 8 | UInt64(byte(2 &+ index)) }
        guard value > (extra == 2 ? 125 : 65535) else {
            throw .broken("the length of a frame is not in its shortest form")
        }
        guard let length = Int(exactly: value) else {
            throw WebSocketFault(CloseCode.messageTooBig, "a frame announces 2^63 bytes or more")
        }
        return length
    }
}
