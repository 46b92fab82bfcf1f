// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// What requests of one session share while they run: their limits, and that they can be reached together.
///
/// Requests of the default session have none, and pay for none.
package final class Session: TurnKeeper {
    package struct Counts: Sendable, Equatable {
        /// Made and not over.
        package var requests = 0
        /// On the wire.
        package var running = 0
        /// Waiting for their turn.
        package var waiting = 0

        package init() {}
    }

    fileprivate enum Waiter {
        case begins(CheckedContinuation<HTTPFailure?, Never>)
        /// The number of an exchange that comes back, and how it goes on.
        case returns(Int, @Sendable () -> Void)

        /// - Parameter failure: nil for its turn.
        func wake(_ failure: HTTPFailure? = nil) {
            switch self {
            case .begins(let continuation): continuation.resume(returning: failure)
            case .returns(_, let goOn): if failure == nil { goOn() }
            }
        }
    }

    fileprivate struct State: ~Copyable {
        var machine: AdmissionMachine
        var exchanges: [Int: Exchange] = [:]
        var waiters: [Int: Waiter] = [:]
        /// Of those that come back, by the numbers of their exchanges.
        var tickets: [Int: Int] = [:]
        /// Turns that came before anybody could wait for them.
        var early: Set<Int> = []
        var nextID = 0
        var alarm: Postponed?
        /// Why nothing is admitted any more.
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

    /// All that are not over, oldest first.
    package var exchanges: [Exchange] {
        state.withLock { state in state.exchanges.values.sorted { $0.number < $1.number } }
    }

    /// Other limits from now on.
    package func change(_ limits: AdmissionLimits) {
        let going = state.withLock { state in
            let ids = state.machine.change(limits, now: Self.now)
            return state.take(ids)
        }
        for waiter in going { waiter.wake() }
        watchTime()
    }

    /// Ends everything with the failure, and admits nothing more.
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
            // what was never started has no runner to end it
            exchange.start()
        }
        for waiter in waiters { waiter.wake(failure) }
    }

    // MARK: what its exchanges say

    /// Nil if it may be part of it.
    package func join(_ exchange: Exchange) -> HTTPFailure? {
        state.withLock { state in
            if state.ending == nil { state.exchanges[exchange.number] = exchange }
            return state.ending
        }
    }

    package func left(_ exchange: Exchange) {
        state.withLock { _ = $0.exchanges.removeValue(forKey: exchange.number) }
    }

    /// Waits for a turn. Throws when there is none: too many wait, the session has ended, or the task is cancelled.
    package func enter(_ priority: RequestPriority, queued: @Sendable () -> Void) async throws(HTTPFailure) {
        let (id, answer, ending) = state.withLock { state -> (Int, AdmissionMachine.Answer, HTTPFailure?) in
            state.nextID &+= 1
            if let ending = state.ending { return (0, .refuse, ending) }
            return (state.nextID, state.machine.ask(state.nextID, priority, now: Self.now), nil)
        }
        if let ending { throw ending }
        switch answer {
        case .go: return
        case .refuse:
            throw HTTPFailure(
                .limitExceeded, "too many requests of the session wait for their turn; send fewer at once",
                phase: .queue, retryable: true)
        case .wait: queued()
        }
        watchTime()
        if let failure = await turn(id) { throw failure }
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

    package func withdraw(_ exchange: Exchange) {
        state.withLock { state in
            guard let id = state.tickets.removeValue(forKey: exchange.number) else { return }
            state.waiters[id] = nil
            _ = state.machine.cancel(id)
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

    private func turn(_ id: Int) async -> HTTPFailure? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enum Now { case wait, answer(HTTPFailure?) }
                let now: Now = state.withLock { state in
                    if state.early.remove(id) != nil { return .answer(nil) }
                    if let ending = state.ending { return .answer(ending) }
                    guard !Task.isCancelled else {
                        _ = state.machine.cancel(id)
                        return .answer(Self.cancelled)
                    }
                    state.waiters[id] = .begins(continuation)
                    return .wait
                }
                if case .answer(let failure) = now { continuation.resume(returning: failure) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let waiter = state.waiters.removeValue(forKey: id) else { return nil }
                _ = state.machine.cancel(id)
                return waiter
            }
            waiter?.wake(Self.cancelled)
        }
    }

    private static var cancelled: HTTPFailure { HTTPFailure(.explicitlyCancelled, "the request was cancelled") }

    // MARK: time

    /// One alarm at most, for the next turn that time alone brings.
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
        var found: [Session.Waiter] = []
        for id in ids {
            if let waiter = waiters.removeValue(forKey: id) {
                if case .returns(let number, _) = waiter { tickets[number] = nil }
                found.append(waiter)
            } else {
                early.insert(id)
            }
        }
        return found
    }
}
