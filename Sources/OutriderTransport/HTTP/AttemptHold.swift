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
            pool.endUnreachable()
            if let connection, pool.isOutdated(connection, key) { return sendAgain() }
            return begin()
        }
        if !expectation.isWaiting { writer?.release() }
        readMore()
    }
}

extension AttemptRunner {
    /// The server responds to a request whose body is still to be sent, and does not need the body. What is left is sent
    /// only if the server is silent in the middle of its response, since it may read the whole body first. A server that
    /// has sent more than the reader takes is not silent.
    ///
    /// - Parameters:
    ///   - hasBegun: whether the body does not wait for 100 Continue.
    ///   - got: bytes of the response's body before the last time of silence.
    func pauseSending(hasBegun: Bool, since got: Int64 = 0) {
        writer?.hold()
        stream?.pauseBody(true)
        expectation.wait(Expectation.patienceBehindHead, on: pool.loop) {
            let now = self.body.progress.got
            guard self.body.hasRoom else { return self.stopSending() }
            guard now == got, !self.isHeld else { return self.pauseSending(hasBegun: hasBegun, since: now) }
            self.expectation.end()
            if let failure = self.bodyFailure { return self.end(failure) }
            self.stream?.pauseBody(false)
            if hasBegun { self.writer?.release() } else { self.sendBody() }
        }
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
