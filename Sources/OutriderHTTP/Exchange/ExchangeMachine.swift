// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides the next step of an exchange: which step follows, how often the request is sent, and when the exchange is
/// over.
///
///     created ─▶ adapting ─▶ admission ─▶ sending ─▶ judging ─▶ receiving ─▶ reviewing ─▶ over
///                   ▲                       ▲ │ (redirect, 401)     │            │
///                   │                       └─┘                     ▼            ▼
///                   └──── waiting ◀──────── consulting ◀── a failure, wherever it happened
///
/// Steps that a request does not need are skipped: a plain request is sent, received, and over. A cache adds no step:
/// the attempt that is sent finds and stores responses by itself.
///
/// Each event returns the next step. The runner performs the step, and reports its result as the next event. An event
/// that does not fit the state changes nothing, and returns `ignore` with the reason.
///
/// Responsible for: exactly one ending; the count of attempts, and its limit.
/// Not responsible for: time limits and cancelling, which arrive here as failures; the attempt itself.
package struct ExchangeMachine: ~Copyable {
    /// The steps that a request needs.
    package struct Steps: OptionSet, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Adapters make each attempt anew.
        package static let adapt = Steps(rawValue: 1)
        /// The head is judged before the body is read.
        package static let judge = Steps(rawValue: 2)
        /// The whole response is reviewed.
        package static let review = Steps(rawValue: 4)
        /// Retriers decide about failures.
        package static let retry = Steps(rawValue: 8)
        /// Retriers decide about responses that no validator rejects, too.
        package static let retryReplies = Steps(rawValue: 16)
        /// Each attempt waits for admission by its session.
        package static let admit = Steps(rawValue: 32)
    }

    /// The action to take now; the next event reports its result.
    package enum Step: Sendable, Equatable {
        /// Make the attempt from the request, then call `adapted` or `failed`.
        case adapt
        /// Wait for admission, then call `admitted` or `failed`.
        case admit
        /// Send the attempt, then call `responded`, `redirected`, `challenged`, `unfinished` or `failed`.
        case send
        /// Judge the head, then call `judged` or `failed`.
        case judge
        /// Read the body, then call `received`, `refused`, `unfinished` or `failed`.
        case receive
        /// Review the response, then call `reviewed` or `failed`.
        case review
        /// Consult the retriers about the failure, or with nil about a response that no validator rejects; then call
        /// `decided`.
        case consult(HTTPFailure?)
        /// Wait so many seconds, then call `waited`.
        case wait(Double)
        /// The exchange is over; nil means success.
        case finish(HTTPFailure?)
        /// The event came out of turn and had no effect: an error of the caller, for this reason.
        case ignore(String)

        /// The failure that led to this step.
        package var failure: HTTPFailure? {
            switch self {
            case .consult(let failure), .finish(let failure): failure
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

    // not ~Copyable: the optimizer of Swift 6.3 does not end on machines that consume such a state at each event
    private enum State {
        case created(HTTPFailure?)
        case adapting, admission, sending, judging, receiving, reviewing
        case consulting(HTTPFailure?)
        case waiting
        case over

        var name: String {
            switch self {
            case .created: "created"
            case .adapting: "adapting"
            case .admission: "admission"
            case .sending: "sending"
            case .judging: "judging"
            case .receiving: "receiving"
            case .reviewing: "reviewing"
            case .consulting: "consulting"
            case .waiting: "waiting"
            case .over: "over"
            }
        }
    }

    /// The immutable settings.
    private struct Rules {
        var steps: Steps
        var mostAttempts: Int
        /// The request could not be built: only an adapter can make a valid attempt.
        var isUnbuilt: Bool
    }

    private struct Counts {
        var attempts = 0
        var retries = 0
        var redirects = 0
    }

    private var state: State
    private let rules: Rules
    private var counts = Counts()

    /// The number of attempts; a redirect belongs to the attempt that received it.
    package var attempts: Int { counts.attempts }
    /// How often the exchange was retried.
    package var retries: Int { counts.retries }
    /// Redirects followed in this attempt.
    package var redirects: Int { counts.redirects }

    /// - Parameters:
    ///   - failure: why the request could not be built; the exchange ends right after its start, unless a retrier
    ///     helps.
    ///   - mostAttempts: the limit, which no retrier can raise.
    package init(_ steps: Steps = [], unbuilt failure: HTTPFailure? = nil, mostAttempts: Int = 1) {
        state = .created(failure)
        rules = Rules(steps: steps, mostAttempts: mostAttempts, isUnbuilt: failure != nil)
    }

    /// The exchange begins; its first attempt counts from here.
    package mutating func start() -> Step {
        switch state {
        case .created(let failure):
            if let failure { return failed(failure) }
            return begin()
        default:
            return ignored("start")
        }
    }

    /// The attempt is ready.
    package mutating func adapted() -> Step {
        switch state {
        case .adapting:
            return attempt()
        default:
            return ignored("adapted")
        }
    }

    /// The session admits the attempt.
    package mutating func admitted() -> Step {
        switch state {
        case .admission:
            state = .sending
            return .send
        default:
            return ignored("admitted")
        }
    }

    /// The head of a final response has arrived, and is no followed redirect.
    package mutating func responded() -> Step {
        switch state {
        case .sending:
            if rules.steps.contains(.judge) {
                state = .judging
                return .judge
            }
            state = .receiving
            return .receive
        default:
            return ignored("responded")
        }
    }

    /// The response is a redirect: the same attempt continues at another URL.
    package mutating func redirected() -> Step {
        switch state {
        case .sending:
            counts.redirects &+= 1
            state = .sending
            return .send
        default:
            return ignored("redirected")
        }
    }

    /// A part of the response is missing: the same attempt requests this part.
    package mutating func unfinished() -> Step {
        switch state {
        case .sending:
            state = .sending
            return .send
        case .receiving:
            state = .sending
            return .send
        default:
            return ignored("unfinished")
        }
    }

    /// The server sent a challenge: the same attempt is sent with a credential.
    package mutating func challenged() -> Step {
        switch state {
        case .sending:
            state = .sending
            return .send
        default:
            return ignored("challenged")
        }
    }

    /// The head is acceptable.
    package mutating func judged() -> Step {
        switch state {
        case .judging:
            state = .receiving
            return .receive
        default:
            return ignored("judged")
        }
    }

    /// The body is not read: the retriers may decide by the head alone.
    package mutating func refused() -> Step {
        switch state {
        case .receiving:
            return conclude()
        default:
            return ignored("refused")
        }
    }

    /// The body has arrived whole.
    package mutating func received() -> Step {
        switch state {
        case .receiving:
            state = .reviewing
            return rules.steps.contains(.review) ? .review : conclude()
        default:
            return ignored("received")
        }
    }

    /// The response is acceptable.
    ///
    /// - Parameter failure: of a handler alone: the retriers decide about the failure, and without a retry the exchange
    ///   succeeds.
    package mutating func reviewed(_ failure: HTTPFailure? = nil) -> Step {
        switch state {
        case .reviewing:
            guard let failure, rules.steps.contains(.retry), mayRepeat else { return conclude() }
            state = .consulting(nil)
            return .consult(failure)
        default:
            return ignored("reviewed")
        }
    }

    /// The step failed. A cancelled exchange is over in every state; no retrier is consulted.
    package mutating func failed(_ failure: HTTPFailure) -> Step {
        switch state {
        case .over:
            return ignored("failed")
        case .consulting:
            state = .over
            return .finish(failure)
        case .waiting:
            state = .over
            return .finish(failure)
        default:
            state = .over
            guard rules.steps.contains(.retry), !failure.kind.isEnd, mayRepeat else { return .finish(failure) }
            state = .consulting(failure)
            return .consult(failure)
        }
    }

    /// The verdict of the retriers.
    package mutating func decided(_ verdict: RetryVerdict) -> Step {
        switch state {
        case .consulting(let failure):
            switch verdict {
            case .doNotRetry, .unusable:
                state = .over
                return .finish(failure)
            case .fail(let reason):
                state = .over
                return .finish(reason)
            case .retry(let seconds):
                state = .waiting
                return seconds > 0 ? .wait(seconds) : again()
            }
        default:
            return ignored("decided")
        }
    }

    /// The delay has passed.
    package mutating func waited() -> Step {
        switch state {
        case .waiting:
            return again()
        default:
            return ignored("waited")
        }
    }

    /// Whether retriers decide about a response that no validator rejects.
    package var consultsAboutResponses: Bool { rules.steps.contains(.retryReplies) && mayRepeat }

    /// Whether the exchange succeeds unless a retrier decides otherwise.
    package var succeedsUnlessRetried: Bool { if case .consulting(.none) = state { true } else { false } }

    private var mayRepeat: Bool { counts.attempts < rules.mostAttempts && counts.retries < rules.mostAttempts }

    // MARK: transitions

    /// Begins the next attempt.
    private mutating func again() -> Step {
        counts.retries &+= 1
        counts.redirects = 0
        return begin()
    }

    /// Begins an attempt with its adapters, if any.
    private mutating func begin() -> Step {
        guard rules.steps.contains(.adapt) || rules.isUnbuilt else { return attempt() }
        state = .adapting
        return .adapt
    }

    /// Counts the attempt, and sends the request once admitted.
    private mutating func attempt() -> Step {
        counts.attempts &+= 1
        let isAdmitted = !rules.steps.contains(.admit)
        state = isAdmitted ? .sending : .admission
        return isAdmitted ? .send : .admit
    }

    /// The response is complete: only retriers may prevent the end.
    private mutating func conclude() -> Step {
        state = consultsAboutResponses ? .consulting(nil) : .over
        return consultsAboutResponses ? .consult(nil) : .finish(nil)
    }

    private func ignored(_ event: String) -> Step { .ignore("\(event) while \(state.name)") }
}

extension HTTPFailure.Kind {
    /// Whether the failure ends the exchange for good, at the request of the caller or the session.
    package var isEnd: Bool {
        self == .explicitlyCancelled || self == .sessionDeinitialized || self == .sessionInvalidated
    }
}
