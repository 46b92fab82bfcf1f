// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// A moment of the calendar, in UTC.
package struct WallTime: Sendable, Equatable {
    /// Since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Since 1970.
    package var milliseconds: Int64 { Int64(seconds) &* 1000 &+ Int64(nanoseconds / 1_000_000) }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }
}
