// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Counts callbacks to clients.
final class CallbackTally: Sendable {
    struct Counts: Sendable {
        var sent = 0
        var replied = 0
        /// By the name of the error: callbackTimedOut, callbackFailed, clientGone and others.
        var failed: [String: Int] = [:]
        /// Seconds until a reply came.
        var seconds = Histogram.seconds
    }

    private let counts = Mutex(Counts())

    var now: Counts { counts.withLock { $0 } }

    func sent() { counts.withLock { $0.sent &+= 1 } }

    func replied(after seconds: Double) {
        counts.withLock { counts in
            counts.replied &+= 1
            counts.seconds.observe(seconds)
        }
    }

    func failed(_ name: String) { counts.withLock { $0.failed[name, default: 0] &+= 1 } }
}
