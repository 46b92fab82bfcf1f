// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// What is to become of an attempt that did not go well.
package enum RetryVerdict: Sendable, Equatable {
    /// Send it again after so many seconds; 0 for at once.
    case retry(after: Double)
    /// Leave it as it is: the next one may be asked.
    case doNotRetry
    /// Leave it, for this reason: nobody else is asked, and the exchange ends with it.
    case fail(HTTPFailure)
}

extension HTTPFailure {
    /// A retrier that answered with an error instead of a verdict, and what it was asked about.
    package static func retryFailed(_ reason: HTTPFailure, original: HTTPFailure?) -> HTTPFailure {
        // it has counted the attempts, and says so itself
        let own: [Kind] = [.requestRetryFailed, .eventStreamReconnectLimit, .webSocketReconnectLimit]
        if own.contains(reason.kind) { return reason }
        var details = [FailureDetail.retryError(.string(reason.message))]
        if let original { details.append(.originalError(original)) }
        if reason.kind.isOfTokens { details.append(.cause(reason)) }
        let who = reason.kind.isOfTokens ? "the request was refused" : "the retrier answered with an error"
        return HTTPFailure(
            .requestRetryFailed, "\(who): \(reason.message)",
            sent: original?.sent ?? .sent, underlying: reason.underlying, details: details)
    }
}

extension HTTPFailure.Kind {
    /// Whether a credential has no token.
    package var isOfTokens: Bool { self == .missingCredential || self == .excessiveRefresh || self == .refreshFailed }
}
