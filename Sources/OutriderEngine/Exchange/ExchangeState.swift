// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
package import OutriderTransport
import Synchronization

/// Reports from the driver and the transport to an exchange.
extension Exchange {
    /// Starts a watchdog: a listener that does not take its events may hold up the exchange, and a connection that
    /// others wait for, only for a limited time. Nil stops the watchdog.
    func watch(_ seconds: Double?) {
        // an upgraded connection may stay open for as long as its protocol likes
        let seconds = snapshot.head?.status == 101 ? nil : seconds
        let watchdog = seconds.map { seconds in
            environment.executors.later(seconds: seconds + 5) { [weak self] in
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

    /// The failure of a cancelled exchange; nil if not cancelled.
    var cancellation: HTTPFailure? { state.withLock { $0.cancellation } }

    var observer: (any ExchangeObserver)? { state.withLock { $0.observer } }

    /// Tells of the creation, unless that is done. Whichever thread has another event waits, so that none precedes this one.
    func introduce(_ tell: () -> EventDelivery?) -> EventDelivery? {
        telling.withLock { telling in
            guard telling == .notYet else { return nil }
            telling = .begun
            return tell()
        }
    }

    /// Tells of a suspension, or of its end, unless the last events are on their way.
    func tellOfHolding(_ tell: () -> Void) { telling.withLock { if $0 != .over { tell() } } }

    /// The last events follow: no other thread tells of anything any more.
    func endTelling() { telling.withLock { $0 = .over } }

    var outlet: (any BodyOutlet)? { state.withLock { $0.outlet } }

    var authenticator: Authenticator? { state.withLock { $0.authenticator } }

    /// Whether a proxy may send challenges; the URL decides which proxy.
    package var usesProxies: Bool { proxyAuthenticator != nil }

    /// Sets the credential for challenges, replacing an earlier one.
    ///
    /// - Parameter isKept: keep the credential for the session, once accepted.
    /// - Parameter source: origin or proxy; for a proxy, `usesProxies` must hold.
    /// - Returns: false if the exchange has ended.
    package func authenticate(
        _ credential: UserCredential, isKept: Bool, for source: ChallengeSource = .origin
    ) -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            if source == .proxy {
                var proxy: HTTPURL?
                if case .success(let attempt) = state.request { proxy = attempt.proxy?.url }
                proxyAuthenticator?.take(credential, isKept: isKept && sessionCredentials != nil, for: proxy)
                return true
            }
            let attempt = try? (state.built ?? state.request).get()
            let authenticator =
                state.authenticator
                ?? Authenticator(
                    nil, callback: nil, sessionCredentials, proxies: attempt?.proxies,
                    security: attempt?.security ?? .standard)
            state.authenticator = authenticator
            authenticator.take(credential, isKept: isKept && sessionCredentials != nil, for: attempt?.url)
            return true
        }
    }

    var delegate: (any ExchangeDelegate)? { state.withLock { $0.delegate } }

    var keepsPartial: Bool { state.withLock { $0.keepsPartial } }

    /// Settles the result now: the failure of a cancellation, or nil if not cancelled in time.
    func settle() -> HTTPFailure? {
        state.withLock { state in
            state.isEnding = true
            return state.cancellation
        }
    }

    /// Begins a request: throws if cancelled; false if suspended: the caller waits for `resume`.
    func begin(attempt: Int) throws(HTTPFailure) -> Bool {
        let (cancellation, isHeld) = state.withLock { state in
            state.snapshot.attempts = attempt
            if state.cancellation == nil { state.snapshot.isBetweenAttempts = false }
            return (state.cancellation, state.snapshot.phase == .suspended)
        }
        if let cancellation { throw cancellation }
        return !isHeld
    }

    /// A head arrived. False while suspended: no observer may receive the head before `resume`.
    func responded(_ head: ExchangeHead, expecting bytes: Int64?, onWire: Int64?) -> Bool {
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

    /// Whether the phase may be reported now.
    func become(_ phase: RequestPhase) -> Bool { state.withLock { become(phase, &$0) } }

    /// Changes the phase if allowed. False if there is no event to report now.
    func become(_ phase: RequestPhase, _ state: inout State) -> Bool {
        if state.snapshot.phase == .suspended, phase != .resumed, phase != .suspended, !phase.isFinal {
            state.untold.append(phase)
            return false
        }
        guard state.snapshot.phase.mayBecome(phase) else { return false }
        enter(phase, &state)
        return true
    }

    /// Counts every change of the phase.
    func enter(_ phase: RequestPhase, _ state: inout State) {
        environment.counters.moved(from: state.snapshot.phase, to: phase)
        state.snapshot.phase = phase
    }

    /// Pauses the timeouts during a callback.
    func hold() {
        state.withLock { $0.decisions &+= 1 }
        pause()
    }

    func release() {
        state.withLock { $0.decisions &-= 1 }
        unpause()
    }

    /// The same for a callback of the transport.
    func pause() {
        let (control, watchdog) = state.withLock { state in
            state.held.hold(at: .now)
            defer { state.watchdog = nil }
            return (state.control, state.watchdog)
        }
        watchdog?.cancel()
        control?.hold()
    }

    func unpause() {
        let (control, isHeld, isHeard) = state.withLock { state in
            state.held.release(at: .now)
            return (state.control, state.held.isHeld, state.observer != nil)
        }
        // suspended, or within another callback
        guard !isHeld else { return }
        watchResource()
        control?.release()
        if isHeard { watch(totalTimeout) }
    }

    /// The time held until `now`.
    func held(at now: ContinuousClock.Instant) -> Duration { state.withLock { $0.held.total(at: now) } }

    /// The request as the client made it.
    var built: Result<Attempt, HTTPFailure> { state.withLock { $0.built ?? $0.request } }

    var totalTimeout: Double? {
        if case .success(let attempt) = built { attempt.timeouts.total } else { nil }
    }

    /// Replaces the request to send.
    func sends(_ attempt: Attempt) {
        state.withLock { state in
            if state.built == nil { state.built = state.request }
            state.request = .success(attempt)
        }
    }

    /// Notes a sent request that is followed by another.
    func note(_ sent: SentRequest, hop: RedirectHop?) {
        let isLasting = plan?.plan.isLasting == true
        state.withLock { state in
            state.snapshot.earlier.append(sent)
            if isLasting { state.snapshot.earlier = state.snapshot.earlier.suffix(Self.rememberedAttempts) }
            if let hop { state.snapshot.redirects.append(hop) }
        }
    }

    /// The URL was changed before the first byte was sent.
    func note(_ hop: RedirectHop) { state.withLock { $0.snapshot.redirects = [hop] } }

    /// Limit of the remembered requests of a lasting exchange.
    static let rememberedAttempts = 16

    func note(_ timelines: [Timeline]) {
        state.withLock { $0.snapshot.timelines = timelines }
    }

    /// Resets the snapshot for a retry.
    ///
    /// - Parameter failure: of the attempt before; nil for a response that no validator rejects.
    func retries(_ count: Int, after failure: HTTPFailure?) {
        state.withLock { state in
            state.resource?.lastFailure = failure
            state.snapshot.retries = count
            state.snapshot.isBetweenAttempts = true
            state.snapshot.redirects = []
            state.snapshot.head = nil
            state.snapshot.progress.sent = 0
            state.snapshot.progress.received = 0
            state.snapshot.progress.receivedTotal = nil
            (state.control, state.opening) = (nil, nil)
        }
    }

    /// Completes the outcome before it is reported; a cancelled exchange always ends as cancelled. Returns the last
    /// phase.
    func conclude(_ outcome: inout ExchangeOutcome) -> RequestPhase {
        let cancellation = state.withLock { state in
            state.isEnding = true
            return state.cancellation
        }
        if let cancellation { outcome.failure = cancellation }
        if let data = outcome.resumeData { outcome.failure?.details.append(.resumeData(data)) }
        environment.counters.ended(
            well: outcome.failure == nil,
            sent: outcome.timelines.reduce(0) { $0 &+ $1.bytesSent },
            received: outcome.timelines.reduce(0) { $0 &+ $1.bytesReceived })
        environment.tally.count(outcome)
        tell(.requestFinished) { .finish(MonitorDetail.Finish(outcome)) }
        return outcome.failure?.kind == .explicitlyCancelled ? .cancelled : .finished
    }

    /// Ends the exchange, and resumes all waiters.
    func over(_ outcome: ExchangeOutcome, _ phase: RequestPhase) {
        let (waiters, work, watchdog, feeds) = state.withLock { state in
            enter(phase, &state)
            state.snapshot.failure = outcome.failure
            // an attempt that waited for its turn counts, too
            state.snapshot.attempts = outcome.attempts
            state.outcome = outcome
            state.driver = nil
            state.observer = nil
            state.delegate = nil
            state.outlet = nil
            (state.control, state.opening) = (nil, nil)
            state.snapshot.timelines = outcome.timelines
            state.built = nil
            if case .success(let attempt) = state.request,
                attempt.bodyHolder != nil || state.snapshot.progress.sentTotal ?? 0 > Attempt.keptBodyBytes
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
        gate?.left(self)
        for work in work { work() }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }
}

extension Exchange: AttemptObserver {
    package func waiting(_ control: any AttemptControl) {
        let isHeld = state.withLock { state in
            state.opening = control
            return state.snapshot.phase == .suspended
        }
        if isHeld { control.hold() }
    }

    package func sending(_ control: any AttemptControl) {
        let (observer, isHeld) = state.withLock { state -> ((any ExchangeObserver)?, Bool) in
            (state.control, state.opening) = (control, nil)
            let isHeld = state.snapshot.phase == .suspended
            uploadBegins(&state)
            if state.cancellation == nil, !become(.sent, &state) { return (nil, isHeld) }
            return (state.observer, isHeld)
        }
        if isHeld { control.hold() }
        observer?.receiveDroppable(.state(.sent, at: .now))
    }

    package func sendsAgain(_ attempt: Attempt) -> Attempt {
        state.withLock { $0.driver }?.signedOnceMore(attempt) ?? attempt.unproved
    }

    package func gaveUp(_ timeline: Timeline) { state.withLock { $0.lost = timeline } }

    /// The timeline of an attempt that ended without a response.
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
    /// Bodies up to this stay for `request.curl`; a longer body is shown as standard input.
    fileprivate static let keptBodyBytes: Int64 = 16 << 10

    var withoutLongBody: Attempt {
        let held: Int
        switch body {
        case _ where bodyHolder != nil: held = .max
        case .none, .file: return self
        case .bytes(let bytes): held = bytes.count
        case .composed(let body): held = body.heldBytes
        }
        guard Int64(held) > Self.keptBodyBytes else { return self }
        var attempt = self
        attempt.bodyHolder = nil
        attempt.body = .file(path: "-", size: body.size ?? 0)
        return attempt
    }
}
