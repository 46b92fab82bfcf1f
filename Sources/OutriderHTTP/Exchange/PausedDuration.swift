// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The total time of pauses, possibly overlapping, which does not count against time limits.
package struct PausedDuration: Sendable {
    private var whole = Duration.zero
    private var since: Duration?
    private var holders = 0

    package init() {}

    package var isHeld: Bool { holders > 0 }

    package mutating func hold(at now: ContinuousClock.Instant) {
        holders &+= 1
        if holders == 1 { since = now.sinceOrigin }
    }

    /// A release without a hold has no effect.
    package mutating func release(at now: ContinuousClock.Instant) {
        guard holders > 0 else { return }
        holders &-= 1
        guard holders == 0, let since else { return }
        whole += now.sinceOrigin - since
        self.since = nil
    }

    /// The total until now.
    package func total(at now: ContinuousClock.Instant) -> Duration {
        guard let since else { return whole }
        return whole + now.sinceOrigin - since
    }
}

extension ContinuousClock.Instant {
    /// The time since a fixed instant, for members of structures: the layout of an `Instant` is unknown at compile time,
    /// and so is that of a structure with one, whose copies then take long.
    package var sinceOrigin: Duration { self - Self.origin }

    private static let origin = ContinuousClock.now
}
