// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP

/// The two clocks of the machine, and the boot that the second clock counts from.
package enum Clocks {
    package static var now: ClockPair { ClockPair(wall: read(CLOCK_REALTIME), boot: read(CLOCK_BOOTTIME)) }

    /// Seconds since the machine started, without sleep: for limits of work that runs only while the machine is awake.
    static var awake: Double { read(CLOCK_MONOTONIC) }

    /// Seconds of processor time that the calling thread has used: for limits of work that other programs may slow down.
    package static var thread: Double { read(CLOCK_THREAD_CPUTIME_ID) }

    /// The ID of the present boot; empty if unknown.
    package static let boot: String = {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, 63, file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }()

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
