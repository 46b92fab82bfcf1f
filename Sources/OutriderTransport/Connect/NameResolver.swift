// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import NIOCore
import NIOPosix
import OutriderHTTP
import Synchronization

/// Host names to addresses. Implement it to answer from somewhere else.
package protocol NameResolver: Sendable {
    /// The addresses of a host in the order in which they are to be tried, never empty; fails with `HTTPFailure`.
    ///
    /// Numeric addresses and localhost never get here. May be called on any loop; the caller has its own deadline.
    func addresses(of host: String, port: Int, on loop: any EventLoop) -> EventLoopFuture<[SocketAddress]>
}

/// Asks the system (getaddrinfo) on a few threads of its own, since that call blocks and cannot be stopped.
package final class SystemResolver: NameResolver {
    private struct State {
        var pool: NIOThreadPool?
        var pending = 0
    }

    private let threads: Int
    private let mostPending: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - threads: lookups that run at once. They begin with the first lookup.
    ///   - mostPending: lookups that run or wait for a thread; one more fails at once.
    package init(threads: Int = 4, mostPending: Int = 512) {
        self.threads = threads
        self.mostPending = mostPending
    }

    package func addresses(of host: String, port: Int, on loop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        guard let pool = begin() else {
            let text = "\(mostPending) host names are being looked up already; try again when some are found"
            return loop.makeFailedFuture(HTTPFailure(.limitExceeded, text, phase: .resolve, retryable: true))
        }
        let found = pool.runIfActive(eventLoop: loop) { try Self.look(up: host, port: port).get() }
        found.whenComplete { _ in self.state.withLock { $0.pending -= 1 } }
        return found
    }

    private func begin() -> NIOThreadPool? {
        state.withLock { state in
            guard state.pending < mostPending else { return nil }
            state.pending += 1
            if let pool = state.pool { return pool }
            let pool = NIOThreadPool(numberOfThreads: threads)
            pool.start()
            state.pool = pool
            return pool
        }
    }

    private static func look(up host: String, port: Int) -> Result<[SocketAddress], HTTPFailure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // safe: the constants are small
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0 else { return .failure(failure(host, code)) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = address(entry, port: port), !found.contains(address) { found.append(address) }
            next = entry.ai_next
        }
        return found.isEmpty ? .failure(failure(host, EAI_NONAME)) : .success(found)
    }

    private static func address(_ entry: addrinfo, port: Int) -> SocketAddress? {
        guard let raw = UnsafeRawPointer(entry.ai_addr) else { return nil }
        var address: SocketAddress
        switch entry.ai_family {
        case AF_INET: address = SocketAddress(raw.loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: address = SocketAddress(raw.loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
        address.port = port
        return address
    }

    private static func failure(_ host: String, _ code: CInt) -> HTTPFailure {
        let text = gai_strerror(code).map { String(cString: $0) } ?? "code \(code)"
        let underlying = HTTPFailure.Underlying(.dns, Int(code), text)  // safe: CInt is narrower
        if code == EAI_AGAIN, !NetworkPath.isAvailable {
            return HTTPFailure(
                .offline, "there is no network to look the host name \(host) up in: \(text)", phase: .resolve,
                underlying: underlying)
        }
        let message = "the host name \(host) was not found: \(text)"
        // "try again" is the resolver's own word; a name that does not exist will not exist in a second either
        return HTTPFailure(
            .nameNotFound, message, phase: .resolve, retryable: code == EAI_AGAIN, underlying: underlying)
    }
}

extension HTTPURL {
    /// The addresses that need no lookup: of a numeric host, of localhost (RFC 6761 section 6.3), of a socket path. A dot at
    /// the end of the host makes no difference.
    func knownAddresses() throws(HTTPFailure) -> [SocketAddress]? {
        if let socketPath {
            guard let address = try? SocketAddress(unixDomainSocketPath: socketPath) else {
                throw HTTPFailure(.invalidURL, "the socket path in the URL is longer than 107 bytes; use a shorter one")
            }
            return [address]
        }
        let name = hostName
        if let address = try? SocketAddress(ipAddress: name, port: port) { return [address] }
        guard name == "localhost" || name.hasSuffix(".localhost") else { return nil }
        return ["127.0.0.1", "::1"].compactMap { try? SocketAddress(ipAddress: $0, port: port) }
    }
}
