// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// What a service does that was started by `get-socket`.
enum Detachment {
    /// Leaves the directory in which it was started, which others may want to remove.
    static func detach() { _ = chdir("/") }

    /// Whoever waits may connect now.
    static func sayReady(_ file: Int32) {
        var byte = UInt8(ascii: "\n")
        _ = write(file, &byte, 1)
        close(file)
    }
}
