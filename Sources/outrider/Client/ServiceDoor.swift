// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Opens further connections to the service of a command.
enum ServiceDoor {
    /// The socket of a service.
    case service(ServicePath)
    /// The socket of a service of our own: its address, and how many bytes that has.
    case own(sockaddr_storage, Int)

    /// A socket that listens at a name that the kernel chooses (unix(7), autobind), for a service of our own. Nil where that
    /// is not permitted.
    ///
    /// The name is no secret. The service accepts its starter alone, and the kernel tells the starter which user listens.
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
        return (.own(address, count), file)
    }

    /// A further connection; nil if the service has ended, or too many connections wait to be accepted.
    func connect() throws(CommandFailure) -> ServiceWire? {
        switch self {
        case .service(let path): return try path.connect(waits: false)
        case .own(let address, let count): return Self.connect(to: address, count)
        }
    }

    private static func connect(to address: sockaddr_storage, _ count: Int) -> ServiceWire? {
        var address = address
        do throws(ServiceWire.SystemFailure) {
            let wire = try withUnsafeBytes(of: &address) { (bytes) throws(ServiceWire.SystemFailure) in
                try ServiceWire(connectedTo: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), waits: false)
            }
            guard wire.peer == geteuid() else { return nil }
            return wire
        } catch {
            return nil
        }
    }
}
