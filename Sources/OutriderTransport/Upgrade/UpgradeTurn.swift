// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP

/// One handshake after the other, and their deadlines.
extension UpgradeRunner: HandshakeWaiter {
    func beginHandshake() {
        isQueued = false
        // not from here: it may fail at once, and let another one go
        pool.loop.assumeIsolated().execute { if self.stage == .queued { self.open() } }
    }

    /// The handshake is over, or not wanted any more: the next one may begin.
    func leaveQueue() {
        guard let key = handshake.take() else { return }
        guard !isQueued else { return pool.handshakes.withdraw(self, key) }
        pool.handshakes.leave(key)?.beginHandshake()
    }
}

extension UpgradeRunner: Timed {
    var deadline: NIODeadline { clock.deadline }

    func deadlinePassed(_ now: NIODeadline) {
        guard stage == .queued else {
            return end(clock.failure(now, host: host, limit: attempt.mostConnections))
        }
        let text = "\(host): other WebSockets of this client were being opened for too long (open one after the other)"
        end(HTTPFailure(.timedOut, text, phase: .queue))
    }
}

extension UpgradeRunner: AskingRunner {}

extension Error {
    /// TLS without close_notify: the frames themselves say whether anything is missing.
    var isUncleanShutdown: Bool {
        if case .uncleanShutdown = self as? NIOSSLError { true } else { false }
    }
}
