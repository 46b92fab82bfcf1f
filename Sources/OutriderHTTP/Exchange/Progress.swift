// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How far both bodies of a request are, in bytes on the wire.
package struct Progress: Sendable, Equatable {
    package var sent: Int64 = 0
    /// Bytes to send, where known.
    package var sentTotal: Int64?
    package var received: Int64 = 0
    /// Bytes to receive, where known.
    package var receivedTotal: Int64?

    package init() {}

    /// The part of all known work that is done, 0 to 1; nil while the length of the answer is unknown.
    package var fraction: Double? {
        guard let receivedTotal, receivedTotal >= 0 else { return nil }
        let whole = Double(receivedTotal) + Double(max(sentTotal ?? 0, 0))
        guard whole > 0 else { return 1 }
        return min(max((Double(received) + Double(sent)) / whole, 0), 1)
    }
}

/// Decides when progress is worth an event: at most one per interval, and nothing twice.
package struct ProgressLimiter: Sendable {
    /// Default 0.25 s.
    package let interval: Duration
    private var last: (time: Duration, progress: Progress)?

    package init(interval: Duration = .milliseconds(250)) { self.interval = interval }

    /// Whether to tell now. The time is since any fixed moment. The end of a body is told at once.
    package mutating func shouldTell(_ progress: Progress, now: Duration) -> Bool {
        guard let last else {
            self.last = (now, progress)
            return true
        }
        guard progress != last.progress else { return false }
        guard now - last.time >= interval || Self.isEnd(progress, after: last.progress) else { return false }
        self.last = (now, progress)
        return true
    }

    private static func isEnd(_ progress: Progress, after last: Progress) -> Bool {
        if let total = progress.sentTotal, progress.sent >= total, last.sent < total { return true }
        if let total = progress.receivedTotal, progress.received >= total {
            // a length that was unknown until the end is news, too
            if last.received < total || last.receivedTotal != total { return true }
        }
        return false
    }
}
