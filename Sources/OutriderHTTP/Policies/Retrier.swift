// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides about retries: a rule, or the client's callback.
package enum Retrier: Sendable, Equatable {
    case policy(RetryPolicy)
    /// For a missing network: waits until a route over such an interface exists, for so many seconds in all. Default:
    /// 5.
    case offline(wait: Double, over: InterfaceRule = InterfaceRule())
    /// The client's code of that name.
    case callback(String)
    /// Refreshes the refused token of the named credential.
    case oauth(String)

    /// The verdict of a rule; nil if a callback or credential decides. For `offline`, as if the network returned at
    /// once.
    package func verdict(_ context: RetryContext) -> RetryVerdict? {
        switch self {
        case .policy(let policy): policy.verdict(context)
        case .offline(let wait, _): Self.offlineVerdict(context, wait)
        case .callback, .oauth: nil
        }
    }

    /// Whether this retrier also judges responses that no validator rejects.
    package var judgesResponses: Bool {
        switch self {
        case .policy(let policy): policy.repeatsResponses && !policy.statuses.isEmpty
        case .oauth: true
        case .offline, .callback: false
        }
    }

    private static func offlineVerdict(_ context: RetryContext, _ wait: Double) -> RetryVerdict {
        guard let failure = context.failure, failure.kind.isOffline else { return .doNotRetry }
        let left = context.retries == 0 ? wait : wait - context.elapsed
        return left > 0 ? .retry(after: 0) : .doNotRetry
    }

    /// Seconds between attempts while a route exists and attempts still fail.
    package static let pause = 0.5
}

extension HTTPFailure.Kind {
    /// Whether the end of a network outage may cure the failure.
    package var isOffline: Bool { self == .offline || self == .unreachable }
}
