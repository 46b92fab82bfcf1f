// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// A path to listen on, and how private its directory has to be.
package struct SocketPlace: Sendable, Equatable {
    package var path: String
    /// The directory is the service's own: made and kept private. Otherwise it is the user's choice, and only has to be
    /// one in which others cannot replace the socket.
    package var ownsDirectory: Bool

    package init(_ path: String, ownsDirectory: Bool = false) {
        self.path = path
        self.ownsDirectory = ownsDirectory
    }

    /// The longest path that fits into `sun_path` with its final zero.
    static let longest = 107

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
        if mkdir(directory, 0o700) != 0 && errno != EEXIST {
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
