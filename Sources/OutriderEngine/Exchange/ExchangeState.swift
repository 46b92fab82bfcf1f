// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
package import OutriderTransport
import Synchronization

/// What the driver and the transport tell an exchange.
extension Exchange {
    /// A listener that does not take its events may hold up the exchange, but not for ever, and with it a connection
    /// that others wait for. Nil while nothing of it is due.
    func watch(_ seconds: Double?) {
        // an upgraded connection may stay open for as long as its protocol likes
        let seconds = snapshot.head?.status == 101 ? nil : seconds
        let watchdog = seconds.map { seconds in
            surroundings.executors.later(seconds: seconds + 5) { [weak self] in
                self?.end(
                    with: HTTPFailure(
                        .timedOut, "the client did not take the events of the request in time", phase: .total,
                        sent: .maybeSent))
            }
        }
        let old = state.withLock { state in
            defer { state.watchdog = watchdog }
            return state.watchdog
        }
        old?.cancel()
    }

    /// Why it is to end early; nil if it is not.
    var cancellation: HTTPFailure? { state.withLock { $0.cancellation } }

    /// The observer, and whether it has not heard of the exchange yet.
    func introduce() -> ((any ExchangeObserver)?, isNew: Bool) {
        state.withLock { state in
            defer { state.isIntroduced = true }
            return (state.observer, !state.isIntroduced)
        }
    }

    var outlet: (any BodyOutlet)? { state.withLock { $0.outlet } }

    var authenticator: Authenticator? { state.withLock { $0.authenticator } }

    /// Whether there is a proxy that could ask; which one depends on the URL.
    package var usesProxies: Bool { proxyAuthenticator != nil }

    /// Gives it a credential for when a server asks, in place of what it had.
    ///
    /// - Parameter isKept: keep it for its session, once it proves right.
    /// - Parameter source: who is to be told; for its proxy, `usesProxies` must hold.
    /// - Returns: false if it has ended.
    package func authenticate(
        _ credential: UserCredential, isKept: Bool, for source: ChallengeSource = .origin
    ) -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            if source == .proxy {
                var proxy: HTTPURL?
                if case .success(let attempt) = state.request { proxy = attempt.proxy?.url }
                proxyAuthenticator?.take(credential, isKept: isKept && keeper != nil, for: proxy)
                return true
            }
            let authenticator = state.authenticator ?? Authenticator(nil, callback: nil, keeper)
            state.authenticator = authenticator
            var url: HTTPURL?
            if case .success(let attempt) = state.built ?? state.request { url = attempt.url }
            authenticator.take(credential, isKept: isKept && keeper != nil, for: url)
            return true
        }
    }

    var advisor: (any ExchangeAdvisor)? { state.withLock { $0.advisor } }

    var keepsPartial: Bool { state.withLock { $0.keepsPartial } }

    /// How it ends is settled now: why it is to end early, or nil if nobody wanted that in time.
    func settle() -> HTTPFailure? {
        state.withLock { state in
            state.isEnding = true
            return state.cancellation
        }
    }

    /// The next sending begins: throws if it must not, false if it must wait for the end of a suspension.
    func begin(attempt: Int) throws(HTTPFailure) -> Bool {
        let (cancellation, isHeld) = state.withLock { state in
            state.snapshot.attempts = attempt
            return (state.cancellation, state.snapshot.phase == .suspended)
        }
        if let cancellation { throw cancellation }
        return !isHeld
    }

    /// A head arrived. False if nobody may hear of it before the end of a suspension.
    func answered(_ head: ExchangeHead, expecting bytes: Int64?, onWire: Int64?) -> Bool {
        let waiters = state.withLock { state -> [Waiter]? in
            if state.snapshot.phase == .suspended, state.cancellation == nil { return nil }
            if state.cancellation == nil { _ = become(.responded, &state) }
            state.snapshot.head = head
            downloadBegins(&state, expecting: bytes, onWire: onWire)
            return state.takeWaiters { $0 == .response }
        }
        guard let waiters else { return false }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
        return true
    }

    /// Whether the phase may be told now.
    func become(_ phase: RequestPhase) -> Bool { state.withLock { become(phase, &$0) } }

    /// Changes the phase if it may be changed. False if there is nothing to tell now.
    func become(_ phase: RequestPhase, _ state: inout State) -> Bool {
        if state.snapshot.phase == .suspended, phase != .resumed, phase != .suspended, !phase.isFinal {
            state.untold.append(phase)
            return false
        }
        guard state.snapshot.phase.mayBecome(phase) else { return false }
        enter(phase, &state)
        return true
    }

    /// Every change of the phase is counted here.
    func enter(_ phase: RequestPhase, _ state: inout State) {
        surroundings.counters.moved(from: state.snapshot.phase, to: phase)
        state.snapshot.phase = phase
    }

    /// Its timeouts stand still while somebody is asked.
    func hold() {
        let (control, watchdog) = state.withLock { state in
            state.held.hold(at: .now)
            defer { state.watchdog = nil }
            return (state.control, state.watchdog)
        }
        watchdog?.cancel()
        control?.hold()
    }

    func release() {
        let (control, isSuspended, isHeard) = state.withLock { state in
            state.held.release(at: .now)
            return (state.control, state.snapshot.phase == .suspended, state.observer != nil)
        }
        guard !isSuspended else { return }
        watchResource()
        control?.release()
        if isHeard { watch(totalTimeout) }
    }

    /// How long it was held up until then.
    func held(at now: ContinuousClock.Instant) -> Duration { state.withLock { $0.held.total(at: now) } }

    /// The request as it was asked for.
    var built: Result<Attempt, HTTPFailure> { state.withLock { $0.built ?? $0.request } }

    var totalTimeout: Double? {
        if case .success(let attempt) = built { attempt.timeouts.total } else { nil }
    }

    /// What is sent now is something else than was asked for.
    func sends(_ attempt: Attempt) {
        state.withLock { state in
            if state.built == nil { state.built = state.request }
            state.request = .success(attempt)
        }
    }

    /// The sending is over, and another one follows.
    func note(_ sent: SentRequest, hop: RedirectHop?) {
        let isLasting = plan?.plan.isLasting == true
        state.withLock { state in
            state.snapshot.earlier.append(sent)
            if isLasting { state.snapshot.earlier = state.snapshot.earlier.suffix(Self.rememberedAttempts) }
            if let hop { state.snapshot.redirects.append(hop) }
        }
    }

    /// The URL was changed before anything was sent.
    func note(_ hop: RedirectHop) { state.withLock { $0.snapshot.redirects = [hop] } }

    /// Of an exchange that goes on without end, so many sendings stay in memory.
    static let rememberedAttempts = 16

    func note(_ timelines: [Timeline]) {
        state.withLock { $0.snapshot.timelines = timelines }
    }

    /// Begins anew, with nothing of what an earlier attempt brought.
    func retries(_ count: Int) {
        state.withLock { state in
            state.snapshot.retries = count
            state.snapshot.redirects = []
            state.snapshot.head = nil
            state.snapshot.progress.sent = 0
            state.snapshot.progress.received = 0
            state.snapshot.progress.receivedTotal = nil
            state.control = nil
        }
    }

    /// Completes the outcome before it is told; a cancelled exchange always ends as one. Returns the last phase.
    func conclude(_ outcome: inout ExchangeOutcome) -> RequestPhase {
        let cancellation = state.withLock { state in
            state.isEnding = true
            return state.cancellation
        }
        if let cancellation { outcome.failure = cancellation }
        if let data = outcome.resumeData { outcome.failure?.details.append(.resumeData(data)) }
        surroundings.counters.ended(
            well: outcome.failure == nil,
            sent: outcome.timelines.reduce(0) { $0 &+ $1.bytesSent },
            received: outcome.timelines.reduce(0) { $0 &+ $1.bytesReceived })
        surroundings.tally.count(outcome)
        tell(.requestFinished) { .finish(MonitorDetail.Finish(outcome)) }
        return outcome.failure?.kind == .explicitlyCancelled ? .cancelled : .finished
    }

    /// From now on the exchange has ended, for all that wait for the end.
    func over(_ outcome: ExchangeOutcome, _ phase: RequestPhase) {
        let (waiters, work, watchdog, feeds) = state.withLock { state in
            enter(phase, &state)
            state.snapshot.failure = outcome.failure
            state.outcome = outcome
            state.driver = nil
            state.observer = nil
            state.advisor = nil
            state.outlet = nil
            state.control = nil
            state.snapshot.timelines = outcome.timelines
            state.built = nil
            if state.snapshot.progress.sentTotal ?? 0 > Attempt.keptBodyBytes,
                case .success(let attempt) = state.request
            {
                state.request = .success(attempt.withoutLongBody)
            }
            state.resource?.alarm?.cancel()
            state.resource = nil
            defer { (state.whenEnded, state.watchdog, state.feeds) = ([], nil, []) }
            return (state.takeWaiters { _ in true }, state.whenEnded, state.watchdog, state.feeds)
        }
        for feed in feeds { feed.drop() }
        watchdog?.cancel()
        turns?.left(self)
        for work in work { work() }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }
}

extension Exchange: AttemptObserver {
    package func sending(_ control: any AttemptControl) {
        let (observer, isHeld) = state.withLock { state -> ((any ExchangeObserver)?, Bool) in
            state.control = control
            let isHeld = state.snapshot.phase == .suspended
            uploadBegins(&state)
            if state.cancellation == nil, !become(.sent, &state) { return (nil, isHeld) }
            return (state.observer, isHeld)
        }
        if isHeld { control.hold() }
        observer?.glimpsed(.state(.sent, at: .now))
    }

    package func gaveUp(_ timeline: Timeline) { state.withLock { $0.lost = timeline } }

    /// The times of an attempt that ended without an answer.
    func takeLost() -> Timeline? {
        state.withLock { state in
            defer { state.lost = nil }
            return state.lost
        }
    }
}

extension Exchange.State {
    mutating func takeWaiters(_ isTaken: (Exchange.Milestone) -> Bool) -> [Exchange.Waiter] {
        if waiters.isEmpty { return [] }
        let taken = waiters.filter { isTaken($0.milestone) }
        waiters.removeAll { isTaken($0.milestone) }
        return taken
    }
}

extension Attempt {
    /// Bodies up to this stay for `request.curl`; a longer one is shown as standard input.
    fileprivate static let keptBodyBytes: Int64 = 16 << 10

    fileprivate var withoutLongBody: Attempt {
        let held: Int
        switch body {
        case .none, .file: return self
        case .bytes(let bytes): held = bytes.count
        case .composed(let body): held = body.heldBytes
        }
        guard Int64(held) > Self.keptBodyBytes else { return self }
        var attempt = self
        attempt.body = .file(path: "-", size: body.size ?? 0)
        return attempt
    }
}
