// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Sockets that systemd listens on for the service (sd_listen_fds(3)).
package enum Activation {
    private static let first: Int32 = 3
    private static let most: Int32 = 4

    /// The descriptors passed to this process; none without socket activation. Checks that each is a listening Unix
    /// socket, and unsets the variables, so that no child process uses them.
    package static func descriptors() throws(StartFailure) -> [Int32] {
        defer { for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"] { unsetenv(name) } }
        guard let pid = variable("LISTEN_PID").flatMap({ Int32($0) }), pid == getpid() else { return [] }
        guard let count = variable("LISTEN_FDS").flatMap({ Int32($0) }), (1...most).contains(count) else {
            throw StartFailure("LISTEN_FDS must be a number from 1 to \(most)")
        }
        for descriptor in first..<first + count where !take(descriptor) {
            throw StartFailure(
                "descriptor \(descriptor) passed by LISTEN_FDS is no listening Unix stream socket; use ListenStream with a path, and Accept=no"
            )
        }
        return Array(first..<first + count)
    }

    /// A listening socket of the program that starts the service.
    package static func starter(_ descriptor: Int32) throws(StartFailure) -> Int32 {
        if take(descriptor) { return descriptor }
        throw StartFailure("--starter-socket: descriptor \(descriptor) is no listening Unix stream socket")
    }

    /// Makes a listening Unix socket ready for the event loop; false for anything else.
    private static func take(_ descriptor: Int32) -> Bool {
        guard option(descriptor, SO_DOMAIN) == AF_UNIX, option(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue),
            option(descriptor, SO_ACCEPTCONN) == 1
        else { return false }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        return true
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    private static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
