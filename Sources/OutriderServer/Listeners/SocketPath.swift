// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where the service listens.
package struct SocketPath: Sendable, Equatable {
    package var path: String
    /// Whether the service makes the directory, and keeps it private. Otherwise the directory is the user's choice.
    package var ownsDirectory: Bool

    /// A path given by the user.
    package init(_ path: String) {
        self.path = path
        ownsDirectory = false
    }

    private init(own directory: String) {
        path = directory + "/outrider.sock"
        ownsDirectory = true
    }

    /// The explicit path, else `$OUTRIDER_SOCKET`, else under `$XDG_RUNTIME_DIR` if the user can use that, else under
    /// `/run/user/UID` if that belongs to the user, else under `/tmp`. The fourth step matters: many launchers strip
    /// `XDG_RUNTIME_DIR`, and `su` leaves that of another user.
    package static func choose(
        explicit: String? = nil, environment: (String) -> String? = Self.environment, user: UInt32 = getuid()
    ) -> SocketPath {
        if let explicit, !explicit.isEmpty { return SocketPath(explicit) }
        if let path = environment("OUTRIDER_SOCKET"), !path.isEmpty { return SocketPath(path) }
        if let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/"), !isForeign(directory, to: user) {
            return SocketPath(own: directory + "/outrider")
        }
        let run = "/run/user/\(user)"
        var info = stat()
        if lstat(run, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == user {
            return SocketPath(own: run + "/outrider")
        }
        return SocketPath(own: "/tmp/outrider-\(user)")
    }

    /// Whether another user has the directory, or the user may not enter it. False for a missing one, which the user
    /// is to make.
    private static func isForeign(_ directory: String, to user: UInt32) -> Bool {
        var info = stat()
        guard stat(directory, &info) == 0 else { return errno != ENOENT }
        return info.st_uid != user && info.st_uid != 0 || access(directory, X_OK) != 0
    }

    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The longest path that fits into `sun_path` with its final zero.
    package static let longest = 107

    package var directory: String { Self.directory(of: path) }

    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
