// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A runner whose clock stops during callbacks to a client.
protocol PausingRunner: Timed {
    var observer: any AttemptObserver { get }
    var pool: ConnectionPool { get }
    var clock: AttemptClock { get set }
    var isHeld: Bool { get }
}

extension PausingRunner {
    /// A callback about the server or a key begins or ends.
    func callbackRuns(_ isCallbackRunning: Bool) {
        observer.callbackRuns(isCallbackRunning)
        // the end of the hold thaws the clock
        if isHeld { return }
        if isCallbackRunning { clock.freeze() } else { clock.thaw() }
        pool.deadlines.movedUp(self)
    }
}
