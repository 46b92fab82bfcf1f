// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Who is asked about a retry: a rule, or the client's code.
package enum Retrier: Sendable, Equatable {
    case policy(RetryPolicy)
    /// While there is no network: waits until a way leads there over such an interface, for so many seconds in all.
    /// Default 5.
    case offline(wait: Double, over: InterfaceRule = InterfaceRule())
    /// The client's code of that name.
    case callback(String)
    /// Refreshes the token of the credential of that name, where it was refused.
    case oauth(String)

    /// What the rule says; nil where the client's code or a credential is to be asked. Of `offline`, as if the network came back at once.
    package func verdict(_ question: RetryQuestion) -> RetryVerdict? {
        switch self {
        case .policy(let policy): policy.verdict(question)
        case .offline(let wait, _): Self.offlineVerdict(question, wait)
        case .callback, .oauth: nil
        }
    }

    /// Whether it says anything about answers that nobody calls a failure.
    package var judgesAnswers: Bool {
        switch self {
        case .policy(let policy): policy.repeatsAnswers && !policy.statuses.isEmpty
        case .oauth: true
        case .offline, .callback: false
        }
    }

    private static func offlineVerdict(_ question: RetryQuestion, _ wait: Double) -> RetryVerdict {
        guard let failure = question.failure, failure.kind.isOffline else { return .doNotRetry }
        let left = question.retries == 0 ? wait : wait - question.elapsed
        return left > 0 ? .retry(after: 0) : .doNotRetry
    }

    /// Seconds between two attempts where the system knows a way and it leads nowhere.
    package static let pause = 0.5
}

extension HTTPFailure.Kind {
    /// A network that comes back may end it.
    package var isOffline: Bool { self == .offline || self == .unreachable }
}
