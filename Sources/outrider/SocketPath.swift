// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where the service listens, and where its clients look: one rule for both (protocol section 3.6).
struct SocketPath {
    var path: String
    /// Somebody named it, as opposed to the place where it is by default.
    var isNamed: Bool

    /// The most bytes that fit into `sun_path`, its final NUL aside.
    static let limit = 107

    /// The flag, `$OUTRIDER_SOCKET`, `$XDG_RUNTIME_DIR`, `/run/user/UID` if it is ours, `/tmp/outrider-UID`.
    init(flag: String?) throws(CommandFailure) {
        if let named = flag ?? environmentVariable("OUTRIDER_SOCKET") {
            path = named.hasPrefix("/") ? named : Self.workingDirectory + "/" + named
            isNamed = true
        } else {
            path = Self.directory + "/outrider.sock"
            isNamed = false
        }
        guard path.utf8.count <= Self.limit else {
            throw CommandFailure(
                .usage,
                "the socket path has \(path.utf8.count) bytes, a Unix socket's may have \(Self.limit): choose a shorter one"
            )
        }
    }

    /// The private directory for everything that belongs to this user's service.
    static var directory: String {
        let user = getuid()
        if let runtime = environmentVariable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") { return runtime + "/outrider" }
        if isOurs("/run/user/\(user)") { return "/run/user/\(user)/outrider" }
        return "/tmp/outrider-\(user)"
    }

    /// Makes the directory of the socket, unless it is there; of a default path, refuses one that others could change.
    func prepareDirectory() throws(CommandFailure) {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard !directory.isEmpty else { return }
        if mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw CommandFailure(.noConnection, "cannot make \(directory): \(systemError(errno))")
        }
        if !isNamed, !Self.isOurs(directory, isPrivate: true) {
            throw CommandFailure(
                .noConnection,
                "\(directory) is not a directory that only you can change; remove it, or choose a path with --socket")
        }
    }

    private static func isOurs(_ directory: String, isPrivate: Bool = false) -> Bool {
        var status = stat()
        guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid() else {
            return false
        }
        return !isPrivate || status.st_mode & 0o077 == 0
    }

    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }
}
