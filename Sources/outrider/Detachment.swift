// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The steps of a service that `get-socket` started.
enum Detachment {
    /// Leaves the working directory of the first caller, which may want to remove the directory, and resets that
    /// caller's umask for later programs.
    static func detach() {
        _ = chdir("/")
        _ = umask(0o077)
    }

    /// Tells the waiting program to connect.
    static func sayReady(_ file: Int32) {
        var byte = UInt8(ascii: "\n")
        _ = write(file, &byte, 1)
        close(file)
    }
}
