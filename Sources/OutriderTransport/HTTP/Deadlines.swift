// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Work with a deadline.
protocol Timed: AnyObject {
    var deadline: NIODeadline { get }
    /// Its index in the list of `Deadlines`.
    var deadlineIndex: Int { get set }
    func deadlinePassed(_ now: NIODeadline)
}

/// Watches the deadlines of all attempts on an event loop with a single scheduled task.
///
/// Most attempts end long before any deadline, and move their deadline several times: that must be cheap. So moving a
/// deadline later changes only a number; the task checks all deadlines when the earliest known may have passed. Only an
/// earlier deadline is reported with `movedUp`.
// proof: every method runs on `loop` and asserts it; other threads only carry the reference.
final class Deadlines: @unchecked Sendable {
    private let loop: any EventLoop
    private var watched: [any Timed] = []
    private var wakesAt = NIODeadline.distantFuture
    private var scheduled: Scheduled<Void>?

    init(on loop: any EventLoop) { self.loop = loop }

    func watch(_ timed: any Timed) {
        loop.assertInEventLoop()
        timed.deadlineIndex = watched.count
        watched.append(timed)
        movedUp(timed)
    }

    func forget(_ timed: any Timed) {
        loop.assertInEventLoop()
        let index = timed.deadlineIndex
        guard watched.indices.contains(index), watched[index] === timed else { return }
        let last = watched.removeLast()
        guard last !== timed else { return }
        watched[index] = last
        last.deadlineIndex = index
    }

    /// The deadline may have become earlier.
    func movedUp(_ timed: any Timed) {
        guard timed.deadline < wakesAt else { return }
        wake(at: timed.deadline)
    }

    private func wake(at deadline: NIODeadline) {
        scheduled?.cancel()
        wakesAt = deadline
        scheduled = loop.assumeIsolated().scheduleTask(deadline: deadline) { self.look() }
    }

    private func look() {
        scheduled = nil
        wakesAt = .distantFuture
        let now = NIODeadline.now()
        for timed in watched where timed.deadline <= now { timed.deadlinePassed(now) }
        guard let next = watched.lazy.map(\.deadline).min() else { return }
        // a passed deadline that was not handled must not keep the loop busy
        wake(at: max(next, now + .milliseconds(1)))
    }
}

extension TimeAmount {
    /// Seconds from outside, clamped to between zero and a year.
    static func seconds(_ seconds: Double) -> TimeAmount {
        let clamped = min(max(0, seconds), 31_536_000) * 1e9
        // safe: clamped to the range, and not-a-number became 0
        return .nanoseconds(clamped.isNaN ? 0 : Int64(clamped))
    }
}
