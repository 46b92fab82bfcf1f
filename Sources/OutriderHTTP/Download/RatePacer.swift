// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits a transfer to a rate in bytes per second: returns the delay after each piece.
///
/// Unused time is saved up for a tenth of a second at most, which prevents bursts.
package struct RatePacer: Sendable {
    private let bytesPerSecond: Double
    /// The moment by which the bytes so far are due at that rate; in seconds since any fixed moment.
    private var due: Double

    private static let mostSaved = 0.1

    package init(bytesPerSecond: Int, now: Double) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        due = now
    }

    /// Seconds to wait before the next read.
    package mutating func wait(after bytes: Int, now: Double) -> Double {
        due = max(due, now - Self.mostSaved) + Double(bytes) / bytesPerSecond
        return max(0, due - now)
    }
}
