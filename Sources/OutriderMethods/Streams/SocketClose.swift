// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Runs the WebSocket behind a stream of messages.
protocol StreamSocket: AnyObject, Sendable {}

/// How a WebSocket ended: the `close` of the last event, of the last read and of `websocket.close`.
struct SocketClose: ObjectShape, Sendable, Equatable {
    /// The code of the received Close frame, or of the sent frame if the connection failed; nil without a frame.
    var code: Int?
    var reason = ""
    /// Whether both sides sent a Close frame.
    var isClean = false

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("code", code)
        if !reason.isEmpty { writer.member("reason", reason) }
        writer.member("clean", isClean)
    }

    /// The last record of the side channel.
    static func record(_ close: SocketClose?, _ failure: HTTPFailure?) -> [UInt8] {
        var record: [UInt8] = []
        MessageRecord.append(.control, JSONWriter.bytes(of: Final(close: close, failure: failure)), to: &record)
        return record
    }

    private struct Final: ObjectShape {
        var close: SocketClose?
        var failure: HTTPFailure?

        func encodeMembers(to writer: inout JSONWriter) {
            if let failure { writer.member("error", FailureShape(failure)) }
            writer.member("close", close)
        }
    }
}
