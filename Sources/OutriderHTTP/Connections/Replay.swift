// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether an attempt whose connection died may be sent again, once, on a new connection (RFC 9110 section 9.2.2, RFC
/// 9112 section 9.3.1).
///
/// A server may close an idle connection at any time, while a request is in flight. Without any byte of a response, an
/// idempotent request is replayed; POST and PATCH are not, since the server could have acted, unless the caller's
/// `Idempotency-Key` lets the server tell the second from a new request.
package enum Replay {
    /// How often an attempt that the server did not process is sent again (RFC 9113 section 8.7).
    package static let mostUnprocessed = 3
    /// How often, in addition, if the settings of the server allowed no request at that time.
    package static let mostRefusedForNow = 20

    /// - Parameter hasKey: whether the request has an `Idempotency-Key`.
    package static func isAllowed(
        method: String, hasKey: Bool = false, wasReused: Bool, responseBegan: Bool, fileBodyBegan: Bool,
        replayedBefore: Bool
    ) -> Bool {
        wasReused && !responseBegan && !fileBodyBegan && !replayedBefore && (hasKey || isIdempotent(method))
    }

    /// RFC 9110 section 9.2.2; unknown methods are not.
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE": true
        default: false
        }
    }
}
