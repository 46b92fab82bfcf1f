// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The steps around the sending of a request: most requests have none.
package struct ExchangePlan: Sendable {
    /// Applied in order to each attempt: those of the session, then those of the request.
    package var adaptations: [Adaptation] = []
    package var redirect = RedirectPolicy.follow
    /// Consulted in order, until one requests or forbids a retry: those of the session, then those of the request.
    package var retriers: [Retrier] = []
    /// The key of the client's authentication callback; nil without a callback.
    package var challenge: String?
    /// Whether the client's code judges the head before the body is read; see ExchangeDelegate.
    package var judgesHead = false
    /// Whether the client's callback reviews the complete response; see ExchangeDelegate.
    package var reviewsResponse = false
    /// Whether the exchange lasts as long as its retriers decide: no limit counts the attempts, and only the last
    /// finished attempt is remembered.
    package var isLasting = false
    /// Whether `start` sends the request; otherwise the first `resume` does.
    package var startsImmediately = true

    /// The session's limit of connections per origin; nil without a limit.
    package var sessionConnections: SessionConnections?
    /// The priority in a session with limits.
    package var priority = RequestPriority.normal
    /// The session's HSTS store; nil if the session keeps none.
    package var strictTransport: (any StrictTransport)?

    /// The steps of the machine that this plan needs.
    package var steps: ExchangeMachine.Steps {
        var steps: ExchangeMachine.Steps = []
        if !adaptations.isEmpty { steps.insert(.adapt) }
        if judgesHead { steps.insert(.judge) }
        if reviewsResponse { steps.insert(.review) }
        if !retriers.isEmpty { steps.insert(.retry) }
        if retriers.contains(where: \.judgesResponses) { steps.insert(.retryReplies) }
        return steps
    }
}

/// A plan behind a reference: most requests have none, and stay small.
package final class SharedPlan: Sendable {
    package let plan: ExchangePlan

    package init(_ plan: ExchangePlan) { self.plan = plan }
}
