// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// What a service does that was started by `get-socket`.
enum Detachment {
    /// Leaves the working directory of the first caller, which may want to remove it, and the umask, which is that caller's
    /// choice and not that of the programs that come later.
    static func detach() {
        _ = chdir("/")
        _ = umask(0o077)
    }

    /// Whoever waits may connect now.
    static func sayReady(_ file: Int32) {
        var byte = UInt8(ascii: "\n")
        _ = write(file, &byte, 1)
        close(file)
    }
}
