// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A runner whose attempt can be suspended: nothing is written or read, and its clock stands still.
protocol HoldableRunner: AskingRunner, AttemptControl {
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
}

extension AttemptRunner: HoldableRunner {
    var isOver: Bool { stage == .done }

    func holdBegan() { writer?.hold() }

    func holdEnded() {
        guard !isOver else { return }
        pool.deadlines.movedUp(self)
        if isBeginHeld {
            isBeginHeld = false
            return begin()
        }
        writer?.release()
        readMore()
    }
}

extension AttemptRunner: Timed {
    var deadline: NIODeadline { clock.deadline }

    func deadlinePassed(_ now: NIODeadline) {
        end(clock.failure(now, host: place, limit: attempt.mostConnections))
    }
}

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

extension AttemptRunner: BodyRunner {}
