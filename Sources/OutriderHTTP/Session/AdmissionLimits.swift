// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits for a session's concurrent work and request rate.
package struct AdmissionLimits: Sendable, Equatable {
    /// At most `requests` attempts may begin within any so many seconds, evenly or at once.
    package struct Rate: Sendable, Equatable {
        package var requests: Int
        package var seconds: Double

        package init(requests: Int, seconds: Double) {
            self.requests = requests
            self.seconds = seconds
        }
    }

    /// Concurrent attempts; nil for no limit.
    package var concurrent: Int?
    package var rate: Rate?
    /// Most attempts that may wait for admission; a further attempt is refused. Default: 10,000.
    package var waiting = 10_000

    package init() {}

    /// Whether there are no limits.
    package var isNone: Bool { concurrent == nil && rate == nil }
}
