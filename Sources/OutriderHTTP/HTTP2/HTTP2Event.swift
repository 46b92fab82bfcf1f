// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A stream of one connection.
package struct HTTP2StreamID: Sendable, Hashable {
    /// Odd, ascending, never used twice: the number on the wire.
    package let number: UInt32
    /// A small index that no other stream has until the last event of this one has been taken: for the caller's own table.
    /// Another stream may have it afterwards, so compare whole ids.
    package let slot: Int
}

/// What happened on a connection, in order. A stream ends with one `ended` or one `broke`, or silently after `cancel`.
package enum HTTP2Event: Sendable, Equatable {
    /// A 1xx head.
    case informational(HTTP2StreamID, ResponseHead)
    /// The final head. `untilClose` stands for a body of unknown length, which ends with `ended`.
    /// `stopSending`: the server has refused a request whose body is still moving, so the rest of it must not be sent.
    case response(HTTP2StreamID, ResponseHead, BodyFraming, stopSending: Bool)
    /// Bytes of a body: their place in the bytes that were given to `received`.
    case body(HTTP2StreamID, Range<Int>)
    /// The response is complete, and its length is right. A body that is still being sent must stop.
    case ended(HTTP2StreamID, trailers: HTTPFields)
    case broke(HTTP2StreamID, HTTP2StreamEnd)
    /// How many streams the connection carries at once has changed: 0 while it is suspect, and for ever once it drains.
    case capacity(Int)
    /// Write what is left and close the connection; nothing follows. The fault is nil for an end in peace.
    case close(HTTP2Fault?)
}

/// Why a stream ended without a whole response.
package enum HTTP2StreamEnd: Sendable, Equatable {
    /// The server has not looked at it: any method may be sent again (RFC 9113 section 8.7).
    case unprocessed(HTTP2Fault)
    /// The server wants the request over HTTP/1.1.
    case needsHTTP11
    /// The server reset the stream.
    case reset(HTTP2Fault, HTTP2Progress)
    /// The connection is gone; the fault is that of the server's GOAWAY, or of ours.
    case lost(HTTP2Fault?, HTTP2Progress)
    /// The server broke a rule or a limit, and we have ended the stream or the connection.
    case failed(HTTPFailure)
}

/// How far a response had come.
package enum HTTP2Progress: Sendable, Equatable {
    /// No byte of it. `replayable`: an idempotent request may be sent again, as on a reused connection of HTTP/1.1.
    case beforeResponse(replayable: Bool)
    /// Between informational heads and the final head.
    case inHead
    case inBody
}

/// What `begin` needs to know of a request.
package struct HTTP2Request: Sendable {
    package var attempt: Attempt
    /// Whether bytes will follow with `bodyReady`; else the stream is closed on our side at once.
    package var hasBody: Bool
    package var expectsContinue: Bool
    package var priority: RequestPriority

    package init(
        _ attempt: Attempt, hasBody: Bool, expectsContinue: Bool = false, priority: RequestPriority = .normal
    ) {
        self.attempt = attempt
        self.hasBody = hasBody
        self.expectsContinue = expectsContinue
        self.priority = priority
    }
}

/// A DATA frame whose head is in the output: the caller writes so many bytes of this stream's body behind it.
package struct HTTP2DataTurn: Sendable, Equatable {
    package let stream: HTTP2StreamID
    package let bytes: Int
    /// The body has ended with them.
    package let isLast: Bool
}
