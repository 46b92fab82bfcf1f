// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

extension Keeper {
    /// The wait for the lock, a request and its repetition, and the disk, with room to spare.
    private static let longestSeconds: UInt32 = 110

    /// From here on nobody looks into this process, and it leaves no core behind.
    package static func hide() {
        _ = outrider_close_to_others()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// The same, and it ends.
    package static func shut() {
        hide()
        alarm(longestSeconds)
        _ = umask(0o077)
        _ = chdir("/")
    }
}
