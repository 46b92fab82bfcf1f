// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

extension AttemptRunner: AttemptControl {
    func hold() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.hold() } }
        guard stage != .done, !isHeld else { return }
        isHeld = true
        clock.freeze()
        writer?.hold()
    }

    func release() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.release() } }
        guard isHeld else { return }
        isHeld = false
        clock.thaw()
        guard stage != .done else { return }
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
