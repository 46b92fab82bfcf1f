// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Descriptors 0 to 2, which whoever started us may have closed.
enum StandardFiles {
    /// Takes the numbers of those that are closed, before a socket or a file does: what is written to standard output would
    /// go there, and be obeyed. What cannot be done with a closed one fails as ever.
    static func hold() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // opens as the lowest number that is free
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Refuses to serve on what cannot be read, or cannot be written.
    static func check() throws(CommandFailure) {
        for (number, name, useless) in [
            (STDIN_FILENO, "input", O_WRONLY), (STDOUT_FILENO, "output", O_RDONLY),
        ] where fcntl(number, F_GETFL) & O_ACCMODE == useless {
            throw CommandFailure(.usage, "--stdio needs standard \(name), which is closed")
        }
    }
}
