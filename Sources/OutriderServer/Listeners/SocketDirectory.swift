// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The directory of the socket, as the service and its clients check it: no other user may be able to put a socket, a
/// lock or a log there.
extension SocketPath {
    /// Makes the directory if missing, and refuses a directory in which other users could place a socket.
    package func prepareDirectory() throws(StartFailure) {
        guard path.utf8.count <= Self.longest else {
            throw StartFailure(
                "the socket path has \(path.utf8.count) bytes, and at most \(Self.longest) are possible: \(path); choose a shorter one with --socket"
            )
        }
        if ownsDirectory { try checkParent() }
        if mkdir(directory, 0o700) == 0 {
            // the umask may have removed permission bits
            chmod(directory, 0o700)
        } else if errno != EEXIST {
            let remedy =
                ownsDirectory
                ? "set XDG_RUNTIME_DIR to a directory of your own, or use --socket" : "make the one above it first"
            throw StartFailure("the directory \(directory) cannot be made: \(errnoText()); \(remedy)")
        }
        let info = try look()
        guard ownsDirectory else { return try checkNamed(info) }
        guard info.st_uid == geteuid() else { throw foreign(directory, info.st_uid) }
        guard info.st_mode & 0o077 == 0 else {
            throw StartFailure(
                "the directory \(directory) has mode \(Self.mode(info)), and other users may enter it; run: chmod 700 \(directory)"
            )
        }
    }

    /// Refuses a default directory that another user made or may write to. A path given by the user is not checked:
    /// there only the user of the service counts. A missing directory passes: nothing can listen there.
    package func checkAsClient() throws(StartFailure) {
        guard ownsDirectory, access(directory, F_OK) == 0 || errno != ENOENT else { return }
        try checkParent()
        let info = try look()
        guard info.st_uid == geteuid() || info.st_uid == 0 else { throw foreign(directory, info.st_uid) }
        guard info.st_mode & 0o022 == 0 else {
            throw StartFailure(
                "the directory \(directory) has mode \(Self.mode(info)), and other users may put a socket there; run: chmod 700 \(directory)"
            )
        }
    }

    private func look() throws(StartFailure) -> stat {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (ownsDirectory ? O_NOFOLLOW : 0)
        let handle = open(directory, flags)
        guard handle >= 0 else {
            var info = stat()
            let isLink = errno == ELOOP || (errno == ENOTDIR && ownsDirectory)
            let reason = isLink ? "it is a link, or no directory; remove it" : errnoText()
            // naming the foreign owner is more helpful than "permission denied"
            if ownsDirectory, lstat(directory, &info) == 0, info.st_uid != geteuid(), info.st_uid != 0 {
                throw foreign(directory, info.st_uid)
            }
            throw StartFailure("the directory \(directory) cannot be used: \(reason)")
        }
        defer { close(handle) }
        var info = stat()
        guard fstat(handle, &info) == 0 else {
            throw StartFailure("the directory \(directory) cannot be looked at: \(errnoText())")
        }
        return info
    }

    /// Refuses a default path below a directory of another user, as when root has kept `XDG_RUNTIME_DIR`: that user
    /// could replace everything below at any time.
    private func checkParent() throws(StartFailure) {
        let parent = Self.directory(of: directory)
        var info = stat()
        guard stat(parent, &info) == 0 else { return }
        guard info.st_uid == geteuid() || info.st_uid == 0 else { throw foreign(parent, info.st_uid) }
        guard info.st_mode & 0o002 == 0 || info.st_mode & S_ISVTX != 0 else {
            throw StartFailure(
                "the directory \(parent) has mode \(Self.mode(info)), and other users may exchange \(directory); set XDG_RUNTIME_DIR to a private one, or use --socket"
            )
        }
    }

    private func checkNamed(_ info: stat) throws(StartFailure) {
        guard info.st_uid == geteuid() || info.st_uid == 0 else {
            throw StartFailure(
                "the directory \(directory) belongs to user \(info.st_uid); choose one of your own with --socket")
        }
        guard info.st_mode & 0o022 == 0 || info.st_mode & S_ISVTX != 0 else {
            throw StartFailure(
                "the directory \(directory) has mode \(Self.mode(info)), and others may replace the socket; choose a private one with --socket"
            )
        }
    }

    private func foreign(_ path: String, _ owner: UInt32) -> StartFailure {
        StartFailure(
            "the directory \(path) belongs to user \(owner), not to user \(geteuid()); set XDG_RUNTIME_DIR to a directory of your own, or use --socket"
        )
    }

    private static func mode(_ info: stat) -> String { String(info.st_mode & 0o7777, radix: 8) }
}
