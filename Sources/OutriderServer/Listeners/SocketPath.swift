// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where the service listens.
package struct SocketPath: Sendable, Equatable {
    package var path: String
    /// The directory is the service's own: made and kept private. Otherwise it is the user's choice.
    package var ownsDirectory: Bool

    /// A path that somebody asked for.
    package init(_ path: String) {
        self.path = path
        ownsDirectory = false
    }

    private init(own directory: String) {
        path = directory + "/outrider.sock"
        ownsDirectory = true
    }

    /// The explicit path, else `$OUTRIDER_SOCKET`, else under `$XDG_RUNTIME_DIR`, else under `/run/user/UID` when that
    /// is ours, else under `/tmp`. The third step matters: many launchers strip `XDG_RUNTIME_DIR`.
    package static func choose(
        explicit: String? = nil, environment: (String) -> String? = Self.environment, user: UInt32 = getuid()
    ) -> SocketPath {
        if let explicit, !explicit.isEmpty { return SocketPath(explicit) }
        if let path = environment("OUTRIDER_SOCKET"), !path.isEmpty { return SocketPath(path) }
        if let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") {
            return SocketPath(own: directory + "/outrider")
        }
        let run = "/run/user/\(user)"
        var info = stat()
        if lstat(run, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == user {
            return SocketPath(own: run + "/outrider")
        }
        return SocketPath(own: "/tmp/outrider-\(user)")
    }

    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The longest path that fits into `sun_path` with its final zero.
    package static let longest = 107

    var directory: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: the directory

    /// Makes the directory if it is missing, and refuses one in which others could put a socket of their own.
    package func prepareDirectory() throws(StartFailure) {
        guard path.utf8.count <= Self.longest else {
            throw StartFailure(
                "the socket path has \(path.utf8.count) bytes, and at most \(Self.longest) are possible: \(path); choose a shorter one with --socket"
            )
        }
        let directory = directory
        if mkdir(directory, 0o700) == 0 {
            // Whatever the umask of the moment took away.
            chmod(directory, 0o700)
        } else if errno != EEXIST {
            throw StartFailure("the directory \(directory) cannot be made: \(errnoText())")
        }
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (ownsDirectory ? O_NOFOLLOW : 0)
        let handle = open(directory, flags)
        guard handle >= 0 else {
            let isLink = errno == ELOOP || (errno == ENOTDIR && ownsDirectory)
            let reason = isLink ? "it is a link, or no directory; remove it" : errnoText()
            throw StartFailure("the directory \(directory) cannot be used: \(reason)")
        }
        defer { close(handle) }
        var info = stat()
        guard fstat(handle, &info) == 0 else {
            throw StartFailure("the directory \(directory) cannot be looked at: \(errnoText())")
        }
        try check(info)
    }

    private func check(_ info: stat) throws(StartFailure) {
        let mode = String(info.st_mode & 0o7777, radix: 8)
        let us = geteuid()
        if ownsDirectory {
            guard info.st_uid == us else {
                throw StartFailure(
                    "the directory \(directory) belongs to user \(info.st_uid), not to user \(us); remove it, or use --socket"
                )
            }
            guard info.st_mode & 0o077 == 0 else {
                throw StartFailure(
                    "the directory \(directory) has mode \(mode), and others may enter it; run: chmod 700 \(directory)")
            }
            return
        }
        guard info.st_uid == us || info.st_uid == 0 else {
            throw StartFailure(
                "the directory \(directory) belongs to user \(info.st_uid); choose one of your own with --socket")
        }
        let writable = info.st_mode & 0o022 != 0
        let sticky = info.st_mode & S_ISVTX != 0
        guard !writable || sticky else {
            throw StartFailure(
                "the directory \(directory) has mode \(mode), and others may replace the socket; choose a private one with --socket"
            )
        }
    }
}
