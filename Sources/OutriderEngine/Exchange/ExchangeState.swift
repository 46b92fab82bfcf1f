// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// What the runner and the transport tell an exchange.
extension Exchange {
    /// A listener that does not take its events may hold up the exchange, but not for ever, and with it a connection
    /// that others wait for.
    func watch(_ seconds: Double) {
        let watchdog = surroundings.executors.later(seconds: seconds + 5) { [weak self] in
            self?.end(
                with: HTTPFailure(
                    .timedOut, "the client did not take the events of the request in time", phase: .total,
                    sent: .maybeSent))
        }
        state.withLock { $0.watchdog = watchdog }
    }

    /// Why it is to end early; nil if it is not.
    var cancellation: HTTPFailure? { state.withLock { $0.cancellation } }

    var observer: (any ExchangeObserver)? { state.withLock { $0.observer } }

    func began(attempt: Int) {
        state.withLock { $0.snapshot.attempts = attempt }
    }

    func answered(_ head: ExchangeHead, expecting bytes: Int64?) {
        let waiters = state.withLock { state in
            if state.cancellation == nil { state.snapshot.phase = .responded }
            state.snapshot.head = head
            state.snapshot.progress.receivedTotal = bytes
            return state.takeWaiters { $0 == .response }
        }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }

    /// So many bytes of the body have come. Returns all progress so far.
    func received(_ bytes: Int64) -> Progress {
        state.withLock { state in
            state.snapshot.progress.received = bytes
            return state.snapshot.progress
        }
    }

    /// Tells the last events, then everybody who waits. A cancelled exchange always ends as one.
    func end(_ outcome: ExchangeOutcome, _ observer: (any ExchangeObserver)?) async {
        var outcome = outcome
        let cancellation = state.withLock { state in
            state.isEnding = true
            return state.cancellation
        }
        if let cancellation { outcome.failure = cancellation }
        surroundings.counters.ended(
            well: outcome.failure == nil,
            sent: outcome.timelines.reduce(0) { $0 &+ $1.bytesSent },
            received: outcome.timelines.reduce(0) { $0 &+ $1.bytesReceived })
        let phase = cancellation?.kind == .explicitlyCancelled ? RequestPhase.cancelled : .finished
        if let observer {
            await observer.heard(.state(phase, at: .now))
            await observer.heard(.finish(outcome))
        }
        let (waiters, work, watchdog) = state.withLock { state in
            state.snapshot.phase = phase
            state.snapshot.failure = outcome.failure
            state.outcome = outcome
            state.task = nil
            state.observer = nil
            if case .success(let attempt) = state.request { state.request = .success(attempt.withoutLongBody) }
            defer { (state.whenEnded, state.watchdog) = (nil, nil) }
            return (state.takeWaiters { _ in true }, state.whenEnded, state.watchdog)
        }
        watchdog?.cancel()
        work?()
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }
}

extension Exchange: AttemptObserver {
    package func sending() {
        let observer = state.withLock { state -> (any ExchangeObserver)? in
            if state.cancellation == nil { state.snapshot.phase = .sent }
            if state.observer != nil { state.uploadBegan = .now }
            return state.observer
        }
        observer?.glimpsed(.state(.sent, at: .now))
    }

    package func bodySent(_ bytes: Int64) {
        let told = state.withLock { state -> (any ExchangeObserver, ExchangeProgress)? in
            state.snapshot.progress.sent = bytes
            guard let observer = state.observer, state.uploadLimiter != nil else { return nil }
            let elapsed = ContinuousClock.now - (state.uploadBegan ?? .now)
            guard state.uploadLimiter?.shouldTell(state.snapshot.progress, now: elapsed) == true else { return nil }
            let total = state.snapshot.progress.sentTotal
            return (
                observer,
                ExchangeProgress(direction: .upload, completed: bytes, total: total, elapsed: elapsed.seconds)
            )
        }
        if let (observer, progress) = told { observer.glimpsed(.progress(progress)) }
    }

    package func informational(status: Int, fields: HTTPFields) {}
}

extension Exchange.State {
    mutating func takeWaiters(_ isTaken: (Exchange.Milestone) -> Bool) -> [Exchange.Waiter] {
        if waiters.isEmpty { return [] }
        let taken = waiters.filter { isTaken($0.value.milestone) }
        for id in taken.keys { waiters[id] = nil }
        return Array(taken.values)
    }
}

extension Attempt {
    /// Bodies up to this stay for `request.curl`; a longer one is shown as standard input.
    private static let keptBodyBytes = 16 << 10

    fileprivate var withoutLongBody: Attempt {
        guard case .bytes(let bytes) = body, bytes.count > Self.keptBodyBytes else { return self }
        var attempt = self
        attempt.body = .file(path: "-", size: Int64(bytes.count))
        return attempt
    }
}
