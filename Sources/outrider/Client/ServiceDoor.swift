// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where a command makes further connections to the service that it already talks to.
enum ServiceDoor {
    /// The socket of a service.
    case service(ServicePath)
    /// The socket of a service of our own: its address.
    case own([UInt8])

    /// A socket that listens at a name that the kernel chooses (unix(7), autobind), for a service of our own. Nil where that
    /// is not permitted.
    ///
    /// Other users may find the name. The service refuses them, and nothing is sent to a peer but our own child: the kernel
    /// reports the user who listens.
    static func starter() -> (door: ServiceDoor, listening: Int32)? {
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard file >= 0 else { return nil }
        var address = sockaddr_storage()
        address.ss_family = sa_family_t(AF_UNIX)
        var size = socklen_t(MemoryLayout<sa_family_t>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(file, address, size) == 0, listen(file, 16) == 0 else { return false }
                size = socklen_t(MemoryLayout<sockaddr_storage>.size)
                return getsockname(file, address, &size) == 0
            }
        }
        guard isListening, let count = Int(exactly: size), count <= MemoryLayout<sockaddr_storage>.size else {
            close(file)
            return nil
        }
        return (.own(withUnsafeBytes(of: &address) { Array($0.prefix(count)) }), file)
    }

    /// One more connection; nil where nothing listens any more.
    func connect() throws(CommandFailure) -> Wire? {
        switch self {
        case .service(let path): return try path.connect()
        case .own(let address):
            let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard file >= 0 else { return nil }
            let wire = Wire(input: file, output: file)
            let isConnected = address.withUnsafeBytes { address in
                guard let start = address.bindMemory(to: sockaddr.self).baseAddress else { return false }
                return Glibc.connect(file, start, socklen_t(address.count)) == 0
            }
            guard isConnected, wire.peer == geteuid() else { return nil }
            return wire
        }
    }
}
