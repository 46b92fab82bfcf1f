// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import Testing

/// Takes connections into its backlog, and lets the kernel accept nothing more once that is full.
final class DeafPort: Sendable {
    let listening: CInt
    let filling: [CInt]
    let port: Int

    init() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listening = listening
        var bytes = [UInt8](repeating: 0, count: 128)
        let port = try SocketAddress(ipAddress: "127.0.0.1", port: 0).withSockAddr { address, size -> Int? in
            guard bind(listening, address, socklen_t(size)) == 0, listen(listening, 0) == 0 else { return nil }
            return bytes.withUnsafeMutableBytes { buffer -> Int? in
                var room = socklen_t(buffer.count)
                guard let bound = buffer.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    getsockname(listening, bound, &room) == 0
                else { return nil }
                // where an IPv4 address has its port
                return Int(buffer[2]) << 8 | Int(buffer[3])
            }
        }
        self.port = try #require(port)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: self.port)
        filling = (0..<4).map { _ in
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            address.withSockAddr { address, size in _ = connect(filler, address, socklen_t(size)) }
            return filler
        }
    }

    deinit { for descriptor in filling + [listening] { close(descriptor) } }
}
