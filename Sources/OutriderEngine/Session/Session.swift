// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The shared state of a session's requests: their limits, and the list of the requests.
///
/// Requests of the default session have no session object, at no cost.
package final class Session: AdmissionGate {
    package struct Counts: Sendable, Equatable {
        /// Created and not ended.
        package var requests = 0
        /// On the wire.
        package var running = 0
        /// Waiting for their turn.
        package var waiting = 0

        package init() {}
    }

    fileprivate enum Waiter {
        /// The number of an exchange before an attempt, and its completion.
        case begins(Int, @Sendable (HTTPFailure?) -> Void)
        /// The number of a resumed exchange, and its continuation.
        case returns(Int, @Sendable () -> Void)
        /// The continuation of work without an exchange.
        case background(@Sendable (Bool) -> Void)

        var number: Int? {
            switch self {
            case .begins(let number, _), .returns(let number, _): number
            case .background: nil
            }
        }

        /// - Parameter failure: nil if the turn is granted.
        func wake(_ failure: HTTPFailure? = nil) {
            switch self {
            case .begins(_, let completion): completion(failure)
            case .returns(_, let goOn): if failure == nil { goOn() }
            case .background(let goOn): goOn(failure == nil)
            }
        }
    }

    fileprivate struct State: ~Copyable {
        var machine: AdmissionMachine
        var exchanges: [Int: Exchange] = [:]
        var waiters: [Int: Waiter] = [:]
        /// Of the waiters, by the numbers of their exchanges.
        var tickets: [Int: Int] = [:]
        var nextID = 0
        var alarm: ScheduledWork?
        /// The failure for requests after the end of the session.
        var ending: HTTPFailure?
    }

    private let engine: Engine
    private let state: Mutex<State>

    package init(_ limits: AdmissionLimits, _ engine: Engine) {
        self.engine = engine
        state = Mutex(State(machine: AdmissionMachine(limits, now: Self.now)))
    }

    package var counts: Counts {
        state.withLock { state in
            var counts = Counts()
            counts.requests = state.exchanges.count
            counts.running = state.machine.running
            counts.waiting = state.machine.waiting
            return counts
        }
    }

    /// All exchanges that have not ended, oldest first.
    package var exchanges: [Exchange] {
        state.withLock { state in state.exchanges.values.sorted { $0.number < $1.number } }
    }

    /// Replaces the limits.
    package func change(_ limits: AdmissionLimits) {
        let (going, alarm) = state.withLock { state in
            let ids = state.machine.change(limits, now: Self.now)
            // the next turn may come sooner now
            defer { state.alarm = nil }
            return (state.take(ids), state.alarm)
        }
        alarm?.cancel()
        for waiter in going { waiter.wake() }
        watchTime()
    }

    /// Ends all exchanges with the failure, and admits no more.
    package func close(_ failure: HTTPFailure) {
        let (exchanges, waiters, alarm) = state.withLock { state in
            state.ending = failure
            let waiters = Array(state.waiters.values)
            (state.waiters, state.tickets) = ([:], [:])
            defer { state.alarm = nil }
            return (Array(state.exchanges.values), waiters, state.alarm)
        }
        alarm?.cancel()
        for exchange in exchanges {
            exchange.end(with: failure)
            // only a started exchange has a driver to end it
            exchange.start()
        }
        for waiter in waiters { waiter.wake(failure) }
    }

    // MARK: calls of exchanges

    /// Nil if the session accepts the exchange.
    package func join(_ exchange: Exchange) -> HTTPFailure? {
        state.withLock { state in
            if state.ending == nil { state.exchanges[exchange.number] = exchange }
            return state.ending
        }
    }

    package var admitsAll: Bool {
        state.withLock { $0.ending == nil && $0.machine.limits.isNone && $0.machine.waiting == 0 }
    }

    package func left(_ exchange: Exchange) {
        state.withLock { _ = $0.exchanges.removeValue(forKey: exchange.number) }
    }

    package func enter(
        _ exchange: Exchange, _ priority: RequestPriority, queued: () -> Void,
        completion: @escaping @Sendable (HTTPFailure?) -> Void
    ) {
        let (verdict, ending) = state.withLock { state -> (AdmissionMachine.Verdict, HTTPFailure?) in
            if let ending = state.ending { return (.refuse, ending) }
            state.nextID &+= 1
            let verdict = state.machine.ask(state.nextID, priority, now: Self.now)
            if case .wait = verdict {
                state.waiters[state.nextID] = .begins(exchange.number, completion)
                state.tickets[exchange.number] = state.nextID
            }
            return (verdict, nil)
        }
        if let ending { return completion(ending) }
        switch verdict {
        case .go: completion(nil)
        case .refuse:
            completion(
                HTTPFailure(
                    .limitExceeded,
                    "too many requests of the session wait for their turn; send fewer at once, or raise limits.waiting",
                    phase: .queue, retryable: true))
        case .wait:
            queued()
            watchTime()
        }
    }

    package func reenter(_ exchange: Exchange, goOn: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            state.nextID &+= 1
            if state.machine.comeBack(state.nextID) { return true }
            state.waiters[state.nextID] = .returns(exchange.number, goOn)
            state.tickets[exchange.number] = state.nextID
            return false
        }
    }

    package func enterInBackground(_ goOn: @escaping @Sendable (Bool) -> Void) -> Bool {
        let verdict = state.withLock { state -> AdmissionMachine.Verdict in
            if state.ending != nil { return .refuse }
            state.nextID &+= 1
            let verdict = state.machine.askInBackground(state.nextID, now: Self.now)
            if case .wait = verdict { state.waiters[state.nextID] = .background(goOn) }
            return verdict
        }
        switch verdict {
        case .go: return true
        case .wait: watchTime()
        case .refuse: goOn(false)
        }
        return false
    }

    package func withdraw(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            guard let id = state.tickets.removeValue(forKey: exchange.number) else { return false }
            _ = state.machine.cancel(id)
            return state.waiters.removeValue(forKey: id) != nil
        }
    }

    /// The attempt is over, or suspended.
    package func leave() {
        let going = state.withLock { state in
            let ids = state.machine.leave(now: Self.now)
            return state.take(ids)
        }
        for waiter in going { waiter.wake() }
        watchTime()
    }

    // MARK: time

    /// Sets a single alarm, for the next turn that depends on time alone.
    private func watchTime() {
        let seconds = state.withLock { state -> Double? in
            guard state.alarm == nil, state.ending == nil else { return nil }
            return state.machine.nextTick(now: Self.now)
        }
        guard let seconds else { return }
        let alarm = engine.later(seconds: seconds) { [weak self] in self?.ring() }
        let isNeeded = state.withLock { state in
            guard state.alarm == nil, state.ending == nil else { return false }
            state.alarm = alarm
            return true
        }
        if !isNeeded { alarm.cancel() }
    }

    private func ring() {
        let going = state.withLock { state in
            state.alarm = nil
            let ids = state.machine.tick(now: Self.now)
            return state.take(ids)
        }
        for waiter in going { waiter.wake() }
        watchTime()
    }

    private static let origin = ContinuousClock.now

    private static var now: Double { (ContinuousClock.now - origin).seconds }
}

extension Session.State {
    fileprivate mutating func take(_ ids: [Int]) -> [Session.Waiter] {
        ids.compactMap { id in
            let waiter = waiters.removeValue(forKey: id)
            if let number = waiter?.number { tickets[number] = nil }
            return waiter
        }
    }
}
