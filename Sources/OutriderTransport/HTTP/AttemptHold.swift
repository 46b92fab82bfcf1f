// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

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
