// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderServer

/// Where a client looks for the service: the same rule as the service's own.
struct ServicePath {
    let socket: SocketPath

    var path: String { socket.path }

    /// Somebody named it, as opposed to the place where it is by default.
    var isNamed: Bool { !socket.ownsDirectory }

    init(flag: String?) throws(CommandFailure) {
        var socket = SocketPath.choose(explicit: flag)
        if !socket.path.hasPrefix("/") { socket.path = Self.workingDirectory + "/" + socket.path }
        guard socket.path.utf8.count <= SocketPath.longest else {
            let count = socket.path.utf8.count
            throw CommandFailure(
                .usage,
                "the socket path has \(count) bytes, and a Unix socket's may have \(SocketPath.longest): choose a shorter one"
            )
        }
        self.socket = socket
    }

    /// Makes the directory of the socket, unless it is there.
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
