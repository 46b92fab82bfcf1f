// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What is to happen around the sending of a request: nothing, for most.
package struct ExchangePlan: Sendable {
    /// In order, from the first on each attempt: those of the session, then those of the request.
    package var adaptations: [Adaptation] = []
    package var redirect = RedirectPolicy.follow
    /// Asked in order, until one wants a retry or refuses it for good: those of the session, then those of the request.
    package var retriers: [Retrier] = []
    /// Under which key the client's code is asked for credentials; nil for nobody.
    package var challenge: String?
    /// Whether the client's code judges the head before the body is read; see ExchangeAdvisor.
    package var asksAboutHead = false
    /// Whether the client's code looks at the whole answer; see ExchangeAdvisor.
    package var asksAboutAnswer = false
    /// Whether it goes on for as long as its retriers want: attempts are not counted against any limit, and of those that
    /// are over only the last are remembered.
    package var isLasting = false
    /// Whether `start` sends it; otherwise the first `resume` does.
    package var startsImmediately = true

    /// Connections to one origin that the session uses at once; nil if the session says nothing.
    package var sessionConnections: SessionConnections?
    /// Whose turn comes first, where a session does not do everything at once.
    package var priority = RequestPriority.normal
    /// Which hosts are reached over TLS only; nil if the session does not remember that.
    package var strictTransport: (any StrictTransport)?

    package init() {}

    /// What of the machine it needs.
    package var steps: ExchangeMachine.Steps {
        var steps: ExchangeMachine.Steps = []
        if !adaptations.isEmpty { steps.insert(.adapt) }
        if asksAboutHead { steps.insert(.judge) }
        if asksAboutAnswer { steps.insert(.review) }
        if !retriers.isEmpty { steps.insert(.retry) }
        if retriers.contains(where: \.judgesAnswers) { steps.insert(.retryAnswers) }
        return steps
    }
}

/// A plan behind one reference: most requests have none, and need not carry it about.
package final class SharedPlan: Sendable {
    package let plan: ExchangePlan

    package init(_ plan: ExchangePlan) { self.plan = plan }
}
