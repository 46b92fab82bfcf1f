// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A runner whose attempt can be suspended: nothing is written or read, and its clock stands still. The clock stops
/// during callbacks to a client, too.
protocol HoldableRunner: Timed, AttemptControl {
    var observer: any AttemptObserver { get }
    var pool: ConnectionPool { get }
    var clock: AttemptClock { get set }
    var isHeld: Bool { get set }
    /// Whether the attempt has ended.
    var isOver: Bool { get }

    /// A hold begins. On the loop.
    func holdBegan()
    /// A hold is over, perhaps after the end of the attempt. On the loop.
    func holdEnded()
}

extension HoldableRunner {
    func hold() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.hold() } }
        guard !isOver, !isHeld else { return }
        isHeld = true
        clock.freeze()
        holdBegan()
    }

    func release() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.release() } }
        guard isHeld else { return }
        isHeld = false
        clock.thaw()
        holdEnded()
    }

    /// A callback about the server or a key begins or ends.
    func callbackRuns(_ isCallbackRunning: Bool) {
        observer.callbackRuns(isCallbackRunning)
        // the end of the hold thaws the clock
        if isHeld { return }
        if isCallbackRunning { clock.freeze() } else { clock.thaw() }
        pool.deadlines.movedUp(self)
    }
}
