// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// How often a command begins a request: a value of `--rate`, such as `2/s`.
struct RequestRate {
    private let interval: Double
    /// When the last request of this process began; nil before the first.
    private static let last = Mutex<ContinuousClock.Instant?>(nil)

    /// As with curl, requests in an hour without a unit.
    init?(_ text: String) {
        let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let count = UInt32(parts[0]), count > 0,
            let unit = units[parts.count > 1 ? parts[1] : "h"]
        else { return nil }
        interval = unit / Double(count)
    }

    /// Waits until the next request may begin.
    func wait() {
        let passed = Self.last.withLock { $0.map { (ContinuousClock.now - $0) / .seconds(1) } }
        if let passed, passed < interval {
            // safe: a day at most
            let left = interval - passed
            var pause = timespec(tv_sec: Int(left), tv_nsec: Int((left - left.rounded(.down)) * 1e9))
            nanosleep(&pause, nil)
        }
        Self.last.withLock { $0 = .now }
    }
}
