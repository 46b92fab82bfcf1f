// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP

/// Sockets in the abstract namespace of Linux (unix(7)). NIO gives the kernel the whole of a `sockaddr_un`, whose zeros
/// would be part of the name.
enum AbstractSocket {
    /// A connected descriptor. Connecting does not block: a listener whose queue is full refuses (EAGAIN).
    static func connect(to name: String) throws -> CInt {
        // safe: the constants are small
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8.prefix(MemoryLayout.size(ofValue: address.sun_path) - 1))
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            // the first byte stays 0
            for (index, byte) in bytes.enumerated() { path[index + 1] = byte }
        }
        let size = socklen_t(clamping: MemoryLayout<sa_family_t>.size + 1 + bytes.count)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw IOError(errnoCode: code, reason: "connect")
        }
        return descriptor
    }
}

extension PoolKey {
    /// The name in the abstract namespace, of a TCP stream to `@name`.
    var abstractName: String? {
        guard let socketPath, socketPath.utf8.first == UInt8(ascii: "@") else { return nil }
        return String(socketPath.dropFirst())
    }
}
