// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The time of cookies.
package enum CookieClock {
    /// Microseconds since 1970.
    package static var now: Int64 {
        let time = WallTime.now
        return Int64(time.seconds) &* Cookie.second &+ Int64(time.nanoseconds / 1000)
    }
}
