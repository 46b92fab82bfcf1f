// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderServer

/// Where a client looks for the service, by the same rule as the service itself, and which user must run it.
struct ServicePath {
    let socket: SocketPath
    /// The only user whose service is believed.
    let peer: UInt32

    var path: String { socket.path }

    /// Whether a flag or a variable names the path.
    var isNamed: Bool { !socket.ownsDirectory }

    /// - Parameter peer: the user of the service; else `$OUTRIDER_PEER_UID`, else the user of this process.
    init(flag: String?, peer: UInt32? = nil) throws(CommandFailure) {
        if flag?.isEmpty == true {
            // a variable of a script that is not set would lead to another service
            throw CommandFailure(
                .usage, "--socket names no path: give one, or leave out --socket for this user's place")
        }
        let named = if let peer { peer } else { try Self.peerOfEnvironment() }
        self.peer = named ?? geteuid()
        var socket = SocketPath.choose(explicit: flag)
        if !socket.path.hasPrefix("/") { socket.path = Self.workingDirectory + "/" + socket.path }
        guard socket.path.utf8.count <= SocketPath.longest else {
            let count = socket.path.utf8.count
            throw CommandFailure(
                .usage,
                "the socket path \(socket.path) has \(count) bytes, and a Unix socket's may have \(SocketPath.longest): "
                    + "choose a shorter one with --socket or $OUTRIDER_SOCKET")
        }
        self.socket = socket
    }

    private static func peerOfEnvironment() throws(CommandFailure) -> UInt32? {
        guard let text = environmentVariable("OUTRIDER_PEER_UID") else { return nil }
        if let user = UInt32(text) { return user }
        throw CommandFailure(.usage, "OUTRIDER_PEER_UID is \(text), and must be the number of a user")
    }

    /// A connection to the service; nil if nothing listens there. Throws `noConnection` before a byte is sent where another
    /// user could have put the socket, or runs the process that listens.
    ///
    /// - Parameter waits: for a service that is slow to accept; otherwise nil where too many clients wait already.
    func connect(waits: Bool = true) throws(CommandFailure) -> ServiceWire? {
        do throws(StartFailure) {
            try socket.checkAsClient()
        } catch {
            throw CommandFailure(.noConnection, "not connecting to \(path): \(error.description)")
        }
        guard let wire = try ServiceWire.connect(path, waits: waits) else { return nil }
        guard let user = wire.peer else {
            throw CommandFailure(.noConnection, "the kernel does not say which user runs the service at \(path)")
        }
        guard user == peer else {
            throw CommandFailure(
                .noConnection,
                "the service at \(path) is run by user \(user), not by user \(peer) (if that is intended: --peer-uid \(user))"
            )
        }
        return wire
    }

    /// Whether a file that is no socket has the path.
    var isOfAnotherKind: Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT != S_IFSOCK
    }

    /// Why no service can start at the path; nil if nothing is known to prevent that.
    var obstacle: String? {
        var place = socket.directory
        // the start of a service makes a missing directory
        if access(place, F_OK) != 0, errno == ENOENT { place = SocketPath.directory(of: place) }
        guard access(place, W_OK | X_OK) != 0 else { return nil }
        let own = isNamed ? "" : "set XDG_RUNTIME_DIR to a directory of your own, or "
        return "the directory \(place) cannot be used: \(systemError(errno)) (\(own)choose another path with --socket)"
    }

    /// Whether a process holds the lock of the path: a service that starts, serves or ends. `/proc/locks` names files by
    /// numbers that file systems share.
    var isLocked: Bool {
        let file = open(path + ".lock", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Creates a missing directory of the socket.
    func prepareDirectory() throws(CommandFailure) {
        do {
            try socket.prepareDirectory()
        } catch {
            throw CommandFailure(.noConnection, error.description)
        }
    }

    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }
}
