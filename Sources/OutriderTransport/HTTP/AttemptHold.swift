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

extension AttemptRunner: Timed {
    var deadline: NIODeadline { clock.deadline }

    func deadlinePassed(_ now: NIODeadline) {
        let awaitsOpening = pool.awaitsOpening(key)
        end(clock.failure(now, host: place, limit: attempt.mostConnections, awaitsOpening: awaitsOpening))
    }
}

extension AttemptRunner: BodyRunner {}
