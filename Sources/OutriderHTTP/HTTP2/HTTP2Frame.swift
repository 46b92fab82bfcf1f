// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The kind of a frame (RFC 9113 section 6). Unknown kinds are legal and ignored.
package struct HTTP2FrameKind: Sendable, Hashable, RawRepresentable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let data = HTTP2FrameKind(rawValue: 0)
    package static let headers = HTTP2FrameKind(rawValue: 1)
    package static let priority = HTTP2FrameKind(rawValue: 2)
    package static let resetStream = HTTP2FrameKind(rawValue: 3)
    package static let settings = HTTP2FrameKind(rawValue: 4)
    package static let pushPromise = HTTP2FrameKind(rawValue: 5)
    package static let ping = HTTP2FrameKind(rawValue: 6)
    package static let goAway = HTTP2FrameKind(rawValue: 7)
    package static let windowUpdate = HTTP2FrameKind(rawValue: 8)
    package static let continuation = HTTP2FrameKind(rawValue: 9)
}

/// The nine bytes that begin a frame (RFC 9113 section 4.1).
package struct HTTP2FrameHead: Sendable, Equatable {
    package static let size = 9
    package static let ack: UInt8 = 0x1
    package static let endStream: UInt8 = 0x1
    package static let endHeaders: UInt8 = 0x4
    package static let padded: UInt8 = 0x8
    package static let priority: UInt8 = 0x20

    /// Bytes of the payload: 0 to 2^24-1.
    package var length: Int
    package var kind: HTTP2FrameKind
    package var flags: UInt8
    /// Without the reserved bit; 0 is the connection.
    package var stream: UInt32

    package init(length: Int, kind: HTTP2FrameKind, flags: UInt8 = 0, stream: UInt32) {
        self.length = length
        self.kind = kind
        self.flags = flags
        self.stream = stream
    }

    /// Reads nine bytes; there must be as many.
    init(_ bytes: Slice<UnsafeRawBufferPointer>) {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        kind = HTTP2FrameKind(rawValue: bytes[3])
        flags = bytes[4]
        stream = bytes.number(at: 5) & 0x7FFF_FFFF
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

extension UnsafeRawBufferPointer {
    /// Four bytes in network order; 0 if there are fewer.
    func number(at offset: Int) -> UInt32 {
        guard offset >= 0, count >= 4, offset <= count - 4 else { return 0 }
        return UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
