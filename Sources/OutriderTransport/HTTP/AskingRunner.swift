// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A runner whose clock stops during callbacks to a client.
protocol AskingRunner: Timed {
    var observer: any AttemptObserver { get }
    var pool: ConnectionPool { get }
    var clock: AttemptClock { get set }
    var isHeld: Bool { get }
}

extension AskingRunner {
    /// A callback about the server or a key begins or ends.
    func asks(_ isAsking: Bool) {
        observer.asks(isAsking)
        // the end of the hold thaws the clock
        if isHeld { return }
        if isAsking { clock.freeze() } else { clock.thaw() }
        pool.deadlines.movedUp(self)
    }
}
