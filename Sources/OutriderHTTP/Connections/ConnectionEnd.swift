// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The effect of the end of a connection, or of a stream, on its attempt.
package enum ConnectionEnd: Sendable, Equatable {
    /// No attempt was running.
    case quiet
    /// The regular end of a body of unknown length.
    case endsBody
    /// No byte of the response had arrived. `replayable`: on a reused connection, as when the server closed an idle
    /// connection while a request was in flight; an idempotent request may be sent again (RFC 9112 section 9.3.1).
    case beforeResponse(replayable: Bool)
    /// In the middle of a head, or between a 1xx and the final head.
    case inHead
    /// Before the end of the body.
    case inBody
    /// The server has not processed the request, so any method may be sent again (RFC 9113 section 8.7).
    case unprocessed
    /// The same, on a connection that the server ends after the requests of others: a crowd at a server that limits the
    /// requests of a connection needs many connections, and each carries a request.
    case passedOver
    /// The server requires HTTP/1.1 for this request (HTTP_1_1_REQUIRED, RFC 9113 section 7).
    case needsHTTP11
}
