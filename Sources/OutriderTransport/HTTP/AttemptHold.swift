// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

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

extension AttemptRunner {
    func lift() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.lift() } }
        if !isOver { clock.lift() }
    }
}

extension AttemptRunner: Timed {
    var deadline: NIODeadline { min(clock.deadline, looksAt) }

    func deadlinePassed(_ now: NIODeadline) {
        // a look that was due while the body was on its way: the time of the response may rest
        if stage != .sending, clock.deadline > now { return looksAt = .distantFuture }
        // on a slow way a piece of the body takes longer than that, although its bytes move
        let isOnItsWay = clock.goesOn(now, received: newlyReceived())
        if looksAt <= now { watchBody() }
        if isOnItsWay || clock.deadline > now { return }
        let awaitsOpening = pool.awaitsOpening(key)
        end(clock.failure(now, host: place, limit: attempt.mostConnections, awaitsOpening: awaitsOpening))
    }

    /// Looks a few times during a time of silence: what the server received at its beginning must not count at its end.
    func watchBody() {
        guard stage == .sending, writer != nil || unreceived > 0, let interval = clock.lookInterval else {
            return looksAt = .distantFuture
        }
        looksAt = .now() + interval
        pool.deadlines.movedUp(self)
    }

    /// Bytes of a long body that the server has received since the last look, also of those that the kernel had taken
    /// before.
    private func newlyReceived() -> Int {
        if let writer { return writer.takeProgress() }
        guard unreceived > 0, let stream else { return 0 }
        let before = unreceived
        unreceived = stream.unsent
        return max(0, before - unreceived)
    }
}

extension AttemptRunner: BodyRunner {}
