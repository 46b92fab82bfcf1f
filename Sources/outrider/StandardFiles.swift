// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Descriptors 0 to 2, which the parent process may have closed.
enum StandardFiles {
    /// Opens closed descriptors before a socket or a file gets their numbers: otherwise standard output would reach
    /// that socket, and the peer would obey. Operations that fail on a closed descriptor still fail.
    static func hold() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // open uses the lowest free number
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Refuses to serve on descriptors that cannot be read or written.
    static func check() throws(CommandFailure) {
        for (number, name, useless) in [
            (STDIN_FILENO, "input", O_WRONLY), (STDOUT_FILENO, "output", O_RDONLY),
        ] where fcntl(number, F_GETFL) & O_ACCMODE == useless {
            throw CommandFailure(.usage, "--stdio needs standard \(name), which is closed")
        }
    }
}
