// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import Synchronization

/// The ends of all that is kept for the same time: finished requests, and stored bodies.
///
/// One timer serves all: a loop searches its timers to cancel one, which takes longer the more there are.
package final class Expiries: Sendable {
    package typealias Work = @Sendable () -> Void

    private struct State {
        var line = ExpiryLine<Work>()
        var hasAlarm = false
    }

    /// So much work runs on the loop without a pause.
    private static let most = 256

    private let time: TimeAmount
    private let executors: LoopExecutors
    private let state = Mutex(State())

    init(seconds: Double, _ executors: LoopExecutors) {
        time = .milliseconds(Int64(seconds * 1000))
        self.executors = executors
    }

    package var count: Int { state.withLock { $0.line.count } }

    /// Runs short work on a loop once the time is over, unless the expiry is dropped before.
    package func add(_ work: @escaping Work) -> Expiry {
        let (number, isFirst) = state.withLock { state in
            defer { state.hasAlarm = true }
            // the clock is read under the lock, so that the order is that of the times
            return (state.line.add(work, due: .now() + time), !state.hasAlarm)
        }
        if isFirst { setAlarm(in: time) }
        return Expiry(number, of: self)
    }

    fileprivate func remove(_ number: UInt64) {
        // dropped behind the lock
        _ = state.withLock { $0.line.remove(number) }
    }

    private func setAlarm(in time: TimeAmount) {
        let seconds = Double(time.nanoseconds) / 1e9
        // late rather than early: an early alarm would only set another
        _ = executors.later(seconds: seconds + 0.001) { [weak self] in self?.ring() }
    }

    private func ring() {
        let (due, left) = state.withLock { state in
            let now = NIODeadline.now()
            let due = state.line.take(at: now, most: Self.most)
            let left = state.line.nextDue.map { max($0 - now, .zero) }
            state.hasAlarm = left != nil
            return (due, left)
        }
        for work in due { work() }
        if let left { setAlarm(in: left) }
    }
}

/// Work that is due later, and never once this object is dropped.
package final class Expiry: Sendable {
    private let number: UInt64
    private let owner: Expiries

    fileprivate init(_ number: UInt64, of owner: Expiries) {
        self.number = number
        self.owner = owner
    }

    deinit { owner.remove(number) }
}
