// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The decision about a failed attempt.
package enum RetryVerdict: Sendable, Equatable {
    /// Send the request again after so many seconds; 0 for at once.
    case retry(after: Double)
    /// No retry by this retrier: the next may decide.
    case doNotRetry
    /// The same from a retrier whose reply cannot be used, for this reason.
    case unusable(String)
    /// No retry, for this reason: no other retrier is consulted, and the exchange ends with this failure.
    case fail(HTTPFailure)
}

extension HTTPFailure {
    /// The failure of a retrier, with the failure that the retrier was consulted about.
    package static func retryFailed(_ reason: HTTPFailure, original: HTTPFailure?) -> HTTPFailure {
        // these failures already describe the exhausted retries
        let own: [Kind] = [.requestRetryFailed, .eventStreamReconnectLimit, .webSocketReconnectLimit]
        if own.contains(reason.kind) { return reason }
        var details = [FailureDetail.retryError(.string(reason.message))]
        if let original { details.append(.originalError(original)) }
        if reason.kind.isOfTokens { details.append(.cause(reason)) }
        let who = reason.kind.isOfTokens ? "the request was refused" : "the retrier replied with an error"
        return HTTPFailure(
            .requestRetryFailed, "\(who): \(reason.message)",
            retryable: reason.kind.isOfTokens && reason.retryable, sent: original?.sent ?? .sent,
            underlying: reason.underlying, details: details)
    }
}

extension HTTPFailure.Kind {
    /// Whether the failure concerns a credential's token.
    package var isOfTokens: Bool { self == .missingCredential || self == .excessiveRefresh || self == .refreshFailed }
}
