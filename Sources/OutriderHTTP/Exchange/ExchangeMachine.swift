// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides what happens next in one exchange: how often the request is sent, who is asked, and when all is over.
///
///     created ─▶ adapting ─▶ sending ─▶ judging ─▶ receiving ─▶ reviewing ─▶ over
///                   ▲          ▲ │ (a redirect, 401)    │           │
///                   │          └─┘                      ▼           ▼
///                   └──── waiting ◀──────── asking ◀── a failure, wherever it happened
///
/// What nobody asked for is skipped: a plain request is sent, received, and over.
///
/// Responsible for: at least one ending, and only one; the count of attempts, and its ceiling.
/// Not responsible for: time limits and cancelling, which arrive here as failures; the attempt itself.
package struct ExchangeMachine: ~Copyable {
    /// Which steps there are.
    package struct Steps: OptionSet, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The attempt is made anew each time, by adapters.
        package static let adapt = Steps(rawValue: 1)
        /// The head is judged before the body is read.
        package static let judge = Steps(rawValue: 2)
        /// The whole answer is looked at.
        package static let review = Steps(rawValue: 4)
        /// Retriers are asked about failures.
        package static let retry = Steps(rawValue: 8)
        /// Retriers are asked about good answers, too.
        package static let retryAnswers = Steps(rawValue: 16)
    }

    /// What to do now; its result is told by the next event.
    package enum Step: Sendable, Equatable {
        /// Make the attempt from the request, then say `adapted` or `failed`.
        case adapt
        /// Send it, then say `answered`, `redirected`, `challenged` or `failed`.
        case send
        /// Judge the head, then say `judged` or `failed`.
        case judge
        /// Take in the body, then say `received` or `failed`.
        case receive
        /// Look at the whole, then say `reviewed` or `failed`.
        case review
        /// Ask the retriers about the failure, or about a good answer; then say `decided`.
        case ask(HTTPFailure?)
        /// Wait so many seconds, then say `waited`.
        case wait(Double)
        /// It is over; nil if all went well.
        case finish(HTTPFailure?)

        /// What led here, if it was something bad.
        package var failure: HTTPFailure? {
            switch self {
            case .ask(let failure), .finish(let failure): failure
            default: nil
            }
        }

        /// Whether an attempt is being carried.
        package var isOnWire: Bool {
            switch self {
            case .send, .judge, .receive: true
            default: false
            }
        }
    }

    private enum State {
        case created(HTTPFailure?)
        case adapting, sending, judging, receiving, reviewing
        case asking(HTTPFailure?)
        case waiting(Double)
        case over(HTTPFailure?)
    }

    private var state: State
    private let steps: Steps
    private let mostAttempts: Int
    private let isUnbuilt: Bool
    /// How often the request has been sent; a redirect belongs to the attempt that met it.
    package private(set) var attempts = 0
    /// How often it was begun again.
    package private(set) var retries = 0
    /// Redirects followed in this attempt.
    package private(set) var redirects = 0

    /// - Parameters:
    ///   - failure: why the request could not even be built; it ends as soon as it starts, unless a retrier helps.
    ///   - mostAttempts: whatever the retriers say, there are no more.
    package init(_ steps: Steps = [], unbuilt failure: HTTPFailure? = nil, mostAttempts: Int = 1) {
        state = .created(failure)
        isUnbuilt = failure != nil
        self.steps = steps
        self.mostAttempts = mostAttempts
    }

    package mutating func start() -> Step {
        guard case .created(let failure) = state else { return current }
        if let failure { return failed(failure) }
        return begin()
    }

    /// The attempt is ready.
    package mutating func adapted() -> Step {
        guard case .adapting = state else { return current }
        return send()
    }

    /// The head of a final answer has arrived, and it is not to be followed elsewhere.
    package mutating func answered() -> Step {
        guard case .sending = state else { return current }
        return go(steps.contains(.judge) ? .judging : .receiving)
    }

    /// The answer led elsewhere: the same attempt goes on there.
    package mutating func redirected() -> Step {
        guard case .sending = state else { return current }
        redirects &+= 1
        return .send
    }

    /// The answer was not all that is wanted: the same attempt asks again.
    package mutating func unfinished() -> Step {
        switch state {
        case .sending, .receiving: go(.sending)
        default: current
        }
    }

    /// The answer asked who is asking: the same attempt goes on with that said.
    package mutating func challenged() -> Step {
        guard case .sending = state else { return current }
        return .send
    }

    /// The head is acceptable.
    package mutating func judged() -> Step {
        guard case .judging = state else { return current }
        return go(.receiving)
    }

    /// Nobody wants the body: the retriers are asked about the head alone.
    package mutating func refused() -> Step {
        guard case .receiving = state else { return current }
        return conclude()
    }

    /// The body has arrived whole.
    package mutating func received() -> Step {
        guard case .receiving = state else { return current }
        return steps.contains(.review) ? go(.reviewing) : conclude()
    }

    /// The answer is acceptable.
    package mutating func reviewed() -> Step {
        guard case .reviewing = state else { return current }
        return conclude()
    }

    /// What was to be done cannot be. A cancelled exchange is over, whatever it did; nobody is asked about that.
    package mutating func failed(_ failure: HTTPFailure) -> Step {
        switch state {
        case .over: return current
        case .asking, .waiting: return go(.over(failure))
        default:
            guard steps.contains(.retry), !failure.kind.isEnd, attempts < mostAttempts, retries < mostAttempts else {
                return go(.over(failure))
            }
            return go(.asking(failure))
        }
    }

    /// What the retriers say.
    package mutating func decided(_ verdict: RetryVerdict) -> Step {
        guard case .asking(let failure) = state else { return current }
        switch verdict {
        case .doNotRetry: return go(.over(failure))
        case .fail(let reason): return go(.over(reason))
        case .retry(let seconds): return seconds > 0 ? go(.waiting(seconds)) : again()
        }
    }

    /// The delay has passed.
    package mutating func waited() -> Step {
        guard case .waiting = state else { return current }
        return again()
    }

    private mutating func again() -> Step {
        retries &+= 1
        redirects = 0
        return begin()
    }

    private mutating func begin() -> Step {
        steps.contains(.adapt) || isUnbuilt ? go(.adapting) : send()
    }

    private mutating func send() -> Step {
        attempts &+= 1
        return go(.sending)
    }

    /// Whether retriers are asked about an answer that is no failure.
    package var asksAboutAnswers: Bool {
        steps.contains(.retryAnswers) && attempts < mostAttempts && retries < mostAttempts
    }

    private mutating func conclude() -> Step { go(asksAboutAnswers ? .asking(nil) : .over(nil)) }

    private mutating func go(_ next: State) -> Step {
        state = next
        return current
    }

    /// An event out of turn changes nothing: what was to be done still is.
    private var current: Step {
        switch state {
        case .created: .finish(HTTPFailure(.createURLRequestFailed, "the exchange was driven out of turn"))
        case .adapting: .adapt
        case .sending: .send
        case .judging: .judge
        case .receiving: .receive
        case .reviewing: .review
        case .asking(let failure): .ask(failure)
        case .waiting(let seconds): .wait(seconds)
        case .over(let failure): .finish(failure)
        }
    }
}

extension HTTPFailure.Kind {
    /// Ends the exchange for good: somebody wanted it to.
    package var isEnd: Bool {
        self == .explicitlyCancelled || self == .sessionDeinitialized || self == .sessionInvalidated
    }
}
