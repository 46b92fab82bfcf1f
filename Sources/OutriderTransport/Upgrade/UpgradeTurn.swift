// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP

/// Serialises handshakes, and sets their deadlines.
extension UpgradeRunner: HandshakeWaiter {
    func beginHandshake() {
        isQueued = false
        // deferred: the opening may fail at once, and start the next
        pool.loop.assumeIsolated().execute { if self.stage == .queued { self.openNow() } }
    }

    /// The handshake is over, or cancelled: the next may begin.
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

extension Error {
    /// TLS without close_notify: the frames themselves show whether bytes are missing.
    var isUncleanShutdown: Bool {
        if case .uncleanShutdown = self as? NIOSSLError { true } else { false }
    }
}
