// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides what happens next in one exchange: how often the request is sent, and when all is over.
///
///     created ──start──▶ sending ──answered──▶ receiving ──ended──▶ over
///        │                  │                      │
///        └──────────────────┴────────failed────────┴──────────────▶ over
///
/// Responsible for: at least one ending, and only one; the count of attempts.
/// Not responsible for: time limits and cancelling, which arrive here as failures of an attempt.
package struct ExchangeMachine: ~Copyable {
    /// What to do now; its result is told by the next event.
    package enum Step: Sendable {
        /// Send it, then say `answered` or `failed`.
        case send(Attempt)
        /// Take in the body, then say `ended` or `failed`.
        case receive
        /// It is over; nil if all went well.
        case finish(HTTPFailure?)
    }

    private enum State {
        case created(Result<Attempt, HTTPFailure>)
        case sending
        case receiving
        case over(HTTPFailure?)
    }

    private var state: State
    /// How often the request has been sent.
    package private(set) var attempts = 0

    /// A request that could not even be built ends as soon as it starts.
    package init(_ request: Result<Attempt, HTTPFailure>) { state = .created(request) }

    package mutating func start() -> Step {
        guard case .created(let request) = state else { return repeated() }
        switch request {
        case .success(let attempt):
            attempts = 1
            state = .sending
            return .send(attempt)
        case .failure(let failure):
            return end(failure)
        }
    }

    /// The head of a final answer has arrived.
    package mutating func answered() -> Step {
        guard case .sending = state else { return repeated() }
        state = .receiving
        return .receive
    }

    /// The body has arrived whole.
    package mutating func ended() -> Step {
        guard case .receiving = state else { return repeated() }
        return end(nil)
    }

    package mutating func failed(_ failure: HTTPFailure) -> Step {
        if case .over = state { return repeated() }
        return end(failure)
    }

    private mutating func end(_ failure: HTTPFailure?) -> Step {
        state = .over(failure)
        return .finish(failure)
    }

    /// An event out of turn changes nothing: what was to be done still is.
    private func repeated() -> Step {
        switch state {
        case .created, .sending: .finish(HTTPFailure(.createURLRequestFailed, "the exchange was driven out of turn"))
        case .receiving: .receive
        case .over(let failure): .finish(failure)
        }
    }
}
