// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Who is asked about a retry: a rule, or the client's code.
package enum Retrier: Sendable, Equatable {
    case policy(RetryPolicy)
    /// While there is no network: tries again each half second until there is, for so many seconds. Default 5.
    case offline(wait: Double)
    /// The client's code of that name.
    case callback(String)

    /// What the rule says; nil where the client's code is to be asked.
    package func verdict(_ question: RetryQuestion) -> RetryVerdict? {
        switch self {
        case .policy(let policy): policy.verdict(question)
        case .offline(let wait): Self.offlineVerdict(question, wait)
        case .callback: nil
        }
    }

    /// Whether it says anything about answers that nobody calls a failure.
    package var judgesAnswers: Bool {
        if case .policy(let policy) = self { policy.repeatsAnswers && !policy.statuses.isEmpty } else { false }
    }

    private static func offlineVerdict(_ question: RetryQuestion, _ wait: Double) -> RetryVerdict {
        guard let failure = question.failure, failure.kind == .offline || failure.kind == .unreachable else {
            return .doNotRetry
        }
        let left = question.retries == 0 ? wait : wait - question.elapsed
        let pause = min(0.5, left)
        return pause > 0 ? .retry(after: pause) : .doNotRetry
    }
}
