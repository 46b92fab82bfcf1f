// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The descriptors 0, 1 and 2.
package enum StandardDescriptors {
    /// Opens /dev/null for each of them that is closed, so that no socket or queue of the service ever gets its number.
    /// Must run first in the process.
    package static func secure() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            let null = Glibc.open("/dev/null", O_RDWR)
            if null >= 0, null != descriptor {
                dup2(null, descriptor)
                Glibc.close(null)
            }
        }
    }

    /// Takes stdout for frames: frames get a private descriptor, and a stray print lands on stderr (protocol section
    /// 3.5).
    static func claimOutput() throws(StartFailure) -> Int32 {
        let output = fcntl(1, F_DUPFD_CLOEXEC, 3)
        guard output >= 0 else { throw StartFailure("standard output cannot be used: \(errnoText())") }
        guard dup2(2, 1) >= 0 else { throw StartFailure("standard error cannot be used: \(errnoText())") }
        return output
    }

    static func isSocket(_ descriptor: Int32) -> Bool {
        var info = stat()
        return fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFSOCK
    }
}

/// The system's text for an errno value.
func errnoText(_ number: Int32 = errno) -> String {
    guard let text = strerror(number) else { return "error \(number)" }
    return String(cString: text)
}

/// Why the service cannot start, as a sentence for a person.
package struct StartFailure: Error, CustomStringConvertible, Equatable {
    package var description: String
    /// The exit status: 75 (try again later) if another service has the socket, else 1.
    package var exitStatus: Int32

    init(_ description: String, exitStatus: Int32 = 1) {
        self.description = description
        self.exitStatus = exitStatus
    }

    package static let alreadyRunning: Int32 = 75
}
