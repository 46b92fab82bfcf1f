// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The time limit for all attempts of an exchange together.
struct ResourceTimeout: Sendable {
    /// Seconds.
    var most: Double
    /// As `ContinuousClock.Instant.sinceOrigin`.
    var began: Duration
    /// The time held before the beginning.
    var heldBefore: Duration
    /// Nil while held.
    var alarm: ScheduledWork?
    /// Why the last retry was needed.
    var lastFailure: HTTPFailure?
}
