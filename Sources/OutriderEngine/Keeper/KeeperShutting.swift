// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

extension Keeper {
    /// The wait for key and lock, or a request, its repetition, and the disk, with room to spare.
    private static let longestSeconds: UInt32 = 110
    /// More than an order, an answer and the records take, in bytes, and less than the 8 MB that every process may lock.
    private static let lockedBytes = 4 << 20
    /// Of addresses, in bytes: a tenth is used.
    private static let mostAddresses: rlim_t = 1 << 30

    /// From here on nobody looks into this process, and it leaves no core behind.
    package static func hide() {
        _ = outrider_close_to_others()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// The same, and it ends.
    package static func shut() {
        // where a system allows less, it is as good as without
        _ = outrider_lock_heap(lockedBytes)
        hide()
        var most = rlimit(rlim_cur: mostAddresses, rlim_max: mostAddresses)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &most)
        windUp()
        _ = umask(0o077)
        _ = chdir("/")
    }

    /// It ends so many seconds from now.
    static func windUp() { alarm(longestSeconds) }
}
