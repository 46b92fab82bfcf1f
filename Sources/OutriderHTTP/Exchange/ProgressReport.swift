// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How far the body in one direction is: what one event of progress says.
///
/// Of one sending (an attempt, or a redirect followed within it) all numbers but the rate and the time only rise.
package struct ProgressReport: Sendable, Equatable {
    package enum Direction: String, Sendable { case upload, download }

    /// The bytes that travel, where they are fewer or more than those of the body: it is compressed on its way.
    package struct Wire: Sendable, Equatable {
        package var completed: Int64
        /// As the message declared it; nil if it did not.
        package var total: Int64?

        package init(completed: Int64, total: Int64?) {
            self.completed = completed
            self.total = total
        }
    }

    package var direction: Direction
    /// The sending that this is about: the attempt, counted from 1, and how many redirects it has followed.
    package var attempt: Int
    package var redirects: Int
    /// Bytes of the body, not compressed. What was sent has been taken by the kernel; what was received has been passed on.
    package var completed: Int64
    /// Nil if it is not known.
    package var total: Int64?
    /// Whether `total` is no more than what the caller expects.
    package var isEstimated: Bool
    package var wire: Wire?
    /// Of 1; nil while no total is known, neither of the body nor on the wire.
    package var fraction: Double?
    /// Bytes of the body per second, of late; nil before any time has passed.
    package var rate: Double?
    /// Seconds until the end at that rate; nil where that cannot be said.
    package var remaining: Double?
    /// Nothing more comes of this sending.
    package var isLast: Bool
}
