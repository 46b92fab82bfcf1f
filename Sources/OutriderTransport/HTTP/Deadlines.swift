// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Something that must have gone on by a certain time.
protocol Timed: AnyObject {
    var deadline: NIODeadline { get }
    /// Where it stands in the list of `Deadlines`.
    var deadlineIndex: Int { get set }
    func deadlinePassed(_ now: NIODeadline)
}

/// Watches the deadlines of all attempts of one event loop with a single scheduled task.
///
/// Most attempts end long before any deadline, and move theirs several times until then: that must cost nothing. So a
/// later deadline is just written down; the task looks at all of them when the earliest known may have passed. Only a
/// deadline before that is told.
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

    /// Its deadline may have become earlier.
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
        // one that did not use its chance must not keep the loop busy
        wake(at: max(next, now + .milliseconds(1)))
    }
}

extension TimeAmount {
    /// Of seconds from outside: not less than nothing, not more than a year.
    static func seconds(_ seconds: Double) -> TimeAmount {
        let clamped = min(max(0, seconds), 31_536_000) * 1e9
        // safe: clamped to what fits, and not-a-number became 0
        return .nanoseconds(clamped.isNaN ? 0 : Int64(clamped))
    }
}
