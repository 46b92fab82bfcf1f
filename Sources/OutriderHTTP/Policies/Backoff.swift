// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The delay before a retry: exponential, limited, and with jitter against a thundering herd.
package struct Backoff: Sendable, Equatable {
    package enum Jitter: String, Sendable, CaseIterable {
        /// Exactly the computed delay.
        case none
        /// Uniform between half of the computed delay and all of it.
        case equal
        /// Uniform between 0 and the computed delay.
        case full
    }

    /// The factor from a delay to the next. Default: 2; at least 2.
    package var base = 2.0
    /// The first delay, in seconds. Default 0.5.
    package var scale = 0.5
    /// No delay is longer, in seconds. Default 60.
    package var longest = 60.0
    package var jitter = Jitter.none

    package init() {}

    /// The delay before the next attempt, in seconds.
    ///
    /// - Parameters:
    ///   - retries: how many there have been.
    ///   - chance: at random from 0 to 1, for the jitter.
    package func delay(after retries: Int, chance: Double) -> Double {
        guard scale > 0 else { return 0 }
        var delay = scale
        var left = retries
        // multiplied rather than raised: the end is reached long before the number is large
        while left > 0, delay < longest {
            delay *= base
            left -= 1
        }
        let full = min(max(delay, 0), longest)
        let chance = min(max(chance, 0), 1)
        return switch jitter {
        case .none: full
        case .equal: full * (0.5 + chance / 2)
        case .full: full * chance
        }
    }
}
