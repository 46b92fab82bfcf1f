// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Inflates the messages of one connection (RFC 7692 section 7.2.2). One call at a time.
package protocol MessageInflating: AnyObject, Sendable {
    /// Appends what the bytes become, at most `room` bytes.
    ///
    /// - Parameter isLast: the message ends with these bytes.
    func inflate(
        _ bytes: UnsafeRawBufferPointer, isLast: Bool, room: Int, to output: inout [UInt8]
    ) -> MessageInflation
}

package enum MessageInflation: Sendable, Equatable {
    case done
    /// There is more than `room`; nothing of it was kept.
    case tooLong
    case malformed
}

/// Compresses the messages of one connection (RFC 7692 section 7.2.1). One call at a time.
package protocol MessageDeflating: AnyObject, Sendable {
    /// Appends the compressed message. False if that failed: the message then goes out as it is.
    func deflate(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) -> Bool
}

/// What a piece of input brought, and what is to be written because of it.
package struct WebSocketArrivals: Sendable {
    /// Whole messages, as records.
    package var records: [UInt8] = []
    package var messages = 0
    /// Frames to write.
    package var frames: [UInt8] = []
    /// The payloads of pongs.
    package var pongs: [[UInt8]] = []
    /// The connection is over for messages: nothing more is delivered or sent.
    package var end: WebSocketMachine.End?

    package init() {}
}
