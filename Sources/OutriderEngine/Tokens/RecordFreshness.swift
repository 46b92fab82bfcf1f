// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Limits how often the record of a credential is compared with the store.
final class RecordFreshness: Sendable {
    /// Seconds.
    static let interval = 2.0

    private let last = Mutex(-interval)
    private let isWatched = Mutex(false)
    /// Callers that come during a read wait for its result.
    let looking = SingleFlight<Bool>()

    /// - Parameter boot: now, by the clock that counts sleep.
    func isDue(at boot: Double, atOnce: Bool) -> Bool {
        last.withLock { last in
            // a clock that was set back, as in a container that was moved, must not prevent reads
            guard atOnce || boot - last >= Self.interval || boot < last else { return false }
            last = boot
            return true
        }
    }

    /// False if a watch runs already.
    func beginWatch() -> Bool {
        isWatched.withLock { isWatched in
            defer { isWatched = true }
            return !isWatched
        }
    }

    func endWatch() { isWatched.withLock { $0 = false } }

    /// Makes the next caller read the store.
    func expire() { last.withLock { $0 = -Self.interval } }
}
