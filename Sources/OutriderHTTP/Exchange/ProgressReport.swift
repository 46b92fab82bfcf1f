// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The progress of the body in a direction: the content of a progress event.
///
/// Within an attempt, or a redirect followed within it, all counts but the rate and the time only increase.
package struct ProgressReport: Sendable, Equatable {
    package enum Direction: String, Sendable { case upload, download }

    /// The bytes on the wire, if they differ from those of the body because of compression.
    package struct Wire: Sendable, Equatable {
        package var completed: Int64
        /// As declared by the message; nil if not declared.
        package var total: Int64?

        package init(completed: Int64, total: Int64?) {
            self.completed = completed
            self.total = total
        }
    }

    package var direction: Direction
    /// The attempt, counted from 1, and the number of redirects that it has followed.
    package var attempt: Int
    package var redirects: Int
    /// Bytes of the body, not compressed. Sent bytes have been taken by the kernel; received bytes have been passed on.
    package var completed: Int64
    /// Nil if unknown.
    package var total: Int64?
    /// Whether `total` is only the caller's hint.
    package var isEstimated: Bool
    package var wire: Wire?
    /// From 0 to 1; nil while no total is known, neither of the body nor on the wire.
    package var fraction: Double?
    /// The recent rate in bytes of the body per second; nil before any time has passed.
    package var rate: Double?
    /// Seconds until the end at that rate; nil if unknown.
    package var remaining: Double?
    /// No report follows for this attempt.
    package var isLast: Bool
}
