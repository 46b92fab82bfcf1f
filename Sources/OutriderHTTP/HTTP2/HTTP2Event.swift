// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The ID of a stream within a connection.
package struct HTTP2StreamID: Sendable, Hashable {
    /// Odd, ascending, never used twice: the number on the wire.
    package let number: UInt32
    /// A small index for the caller's own table, unique until the stream's last event has been taken. Another stream
    /// may reuse the index afterwards, so compare whole IDs.
    package let slot: Int
}

/// An event of a connection, in order. A stream ends with a single `ended` or `broke`, or silently after `cancel`.
package enum HTTP2Event: Sendable, Equatable {
    /// A 1xx head.
    case informational(HTTP2StreamID, ResponseHead)
    /// The final head. `untilClose` stands for a body of unknown length, which ends with `ended`. `stopSending`: the
    /// server has refused a request whose body is still being sent; the rest need not be sent.
    case response(HTTP2StreamID, ResponseHead, BodyFraming, stopSending: Bool)
    /// Bytes of a body: their place in the bytes that were given to `received`.
    case body(HTTP2StreamID, Range<Int>)
    /// The response is complete, and its length is right. A body that is still being sent must stop.
    case ended(HTTP2StreamID, trailers: HTTPFields)
    case broke(HTTP2StreamID, HTTP2StreamEnd)
    /// The number of concurrent streams has changed: 0 while the connection is suspect, and permanently once draining.
    case capacity(Int)
    /// Write the remaining output and close the connection; no event follows. The fault is nil for an orderly end.
    case close(HTTP2Fault?)
}

/// Why a stream ended without a whole response.
package enum HTTP2StreamEnd: Sendable, Equatable {
    /// The server has not processed the request: any method may be sent again (RFC 9113 section 8.7).
    case unprocessed(HTTP2Fault)
    /// The same, on a connection that the server ends after the requests of others.
    case passedOver(HTTP2Fault)
    /// The server requires HTTP/1.1 for the request.
    case needsHTTP11
    /// The server reset the stream.
    case reset(HTTP2Fault, HTTP2Progress)
    /// The connection is lost; the fault is that of the server's or the client's GOAWAY.
    case lost(HTTP2Fault?, HTTP2Progress)
    /// The server broke a rule or a limit, and the machine has ended the stream or the connection.
    case failed(HTTPFailure)
}

/// The progress of a response.
package enum HTTP2Progress: Sendable, Equatable {
    /// Before any byte of the response. `replayable`: an idempotent request may be sent again, as on a reused
    /// connection of HTTP/1.1.
    case beforeResponse(replayable: Bool)
    /// Between informational heads and the final head.
    case inHead
    case inBody
}

/// The part of a request that `begin` needs.
package struct HTTP2Request: Sendable {
    package var attempt: Attempt
    /// Whether bytes will follow with `bodyReady`; otherwise the client's side of the stream closes at once.
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

/// A DATA frame whose head is in the output: the caller writes this many bytes of the stream's body behind the head.
package struct HTTP2DataTurn: Sendable, Equatable {
    package let stream: HTTP2StreamID
    package let bytes: Int
    /// The body has ended with them.
    package let isLast: Bool
}
