// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Inflates the messages of a connection (RFC 7692 section 7.2.2). Calls must not overlap.
package protocol MessageInflating: AnyObject, Sendable {
    /// Appends the inflated bytes, at most `room` of them.
    ///
    /// - Parameter isLast: the message ends with these bytes.
    func inflate(
        _ bytes: UnsafeRawBufferPointer, isLast: Bool, room: Int, to output: inout [UInt8]
    ) -> MessageInflation
}

package enum MessageInflation: Sendable, Equatable {
    case done
    /// The inflated bytes exceed `room`; none were kept.
    case tooLong
    case malformed
}

/// Compresses the messages of a connection (RFC 7692 section 7.2.1). Calls must not overlap.
package protocol MessageDeflating: AnyObject, Sendable {
    /// Appends the compressed message. False if compression failed: the message then goes out uncompressed.
    func deflate(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) -> Bool
}

/// The messages in a piece of input, and the frames to write in response.
package struct WebSocketArrivals: Sendable {
    /// Whole messages, as records.
    package var records = MessageRecords()
    package var messages = 0
    /// Frames to write.
    package var frames: [UInt8] = []
    /// The payloads of pongs.
    package var pongs: [[UInt8]] = []
    /// The connection carries no more messages in either direction.
    package var end: WebSocketEnd?

    package init() {}
}
