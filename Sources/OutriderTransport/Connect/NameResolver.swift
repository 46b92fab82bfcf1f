// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import NIOCore
package import OutriderHTTP
import Synchronization

/// Resolves host names to addresses. Implement the protocol to use another source.
package protocol NameResolver: Sendable {
    /// The addresses of a host in the order of connecting, never empty; fails with `HTTPFailure`.
    ///
    /// Numeric addresses and localhost are resolved before. May be called on any loop; the caller has its own deadline.
    func addresses(
        of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
    ) -> EventLoopFuture<[SocketAddress]>
}

/// Tells a resolver whether the addresses are still awaited.
package final class LookupInterest: Sendable {
    private let hasEnded = Atomic(false)

    package init() {}

    package var exists: Bool { !hasEnded.load(ordering: .relaxed) }

    func end() { hasEnded.store(true, ordering: .relaxed) }
}

/// Resolves with getaddrinfo on threads of its own, since that call blocks and cannot be stopped. Requests of a client
/// that begin within a second share the lookup of a name: a burst would ask the name server once for each connection,
/// and wait for a thread each time.
package final class SystemResolver: NameResolver {
    private struct Name: Hashable {
        let host: String
        let client: ClientKey
    }

    private struct Waiter {
        let port: Int
        let interest: LookupInterest
        let promise: EventLoopPromise<[SocketAddress]>
    }

    private final class Lookup: Sendable {
        /// An older lookup may hang where a new one would not: the network may have changed.
        private static let shared = TimeAmount.seconds(1.0)
        private let began = NIODeadline.now()
        /// Nil after the end.
        private let waiters: Mutex<[Waiter]?>

        init(_ waiter: Waiter) { waiters = Mutex([waiter]) }

        var isAwaited: Bool { waiters.withLock { $0?.contains { $0.interest.exists } == true } }

        /// False if the lookup is too old, or has ended.
        func joins(_ waiter: Waiter) -> Bool {
            guard NIODeadline.now() - began < Self.shared else { return false }
            return waiters.withLock { $0?.append(waiter) } != nil
        }

        func end() -> [Waiter] { waiters.withLock { $0.take() } ?? [] }
    }

    private let threads: BlockingThreads
    /// The latest lookup of each name.
    private let lookups = Mutex<[Name: Lookup]>([:])

    package init(threads: BlockingThreads = .names) { self.threads = threads }

    package func addresses(
        of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
    ) -> EventLoopFuture<[SocketAddress]> {
        let waiter = Waiter(port: port, interest: interest, promise: loop.makePromise())
        let name = Name(host: host, client: client)
        let lookup = lookups.withLock { lookups -> Lookup? in
            if lookups[name]?.joins(waiter) == true { return nil }
            let lookup = Lookup(waiter)
            lookups[name] = lookup
            return lookup
        }
        if let lookup { start(lookup, of: name) }
        return waiter.promise.futureResult
    }

    private func start(_ lookup: Lookup, of name: Name) {
        let isTaken = threads.run(for: name.client) {
            // requests that ended while they waited for a thread must not keep later ones waiting
            guard self.isAwaited(lookup, of: name) else {
                return self.end(lookup, of: name, .failure(CancellationError()))
            }
            self.end(lookup, of: name, Self.look(up: name.host).mapError { $0 as any Error })
        }
        guard !isTaken else { return }
        let text = "too many host names are being looked up for this client (wait until some are found)"
        end(lookup, of: name, .failure(HTTPFailure(.limitExceeded, text, phase: .resolve, retryable: true)))
    }

    /// Whether a request awaits the addresses. If none does, no other request joins the lookup.
    private func isAwaited(_ lookup: Lookup, of name: Name) -> Bool {
        lookups.withLock { lookups in
            if lookup.isAwaited { return true }
            if lookups[name] === lookup { lookups[name] = nil }
            return false
        }
    }

    private func end(_ lookup: Lookup, of name: Name, _ found: Result<[SocketAddress], any Error>) {
        lookups.withLock { if $0[name] === lookup { $0[name] = nil } }
        for waiter in lookup.end() {
            waiter.promise.completeWith(
                found.map { addresses in
                    addresses.map { address in
                        var address = address
                        address.port = waiter.port
                        return address
                    }
                })
        }
    }

    /// The addresses have the port 0.
    private static func look(up host: String) -> Result<[SocketAddress], HTTPFailure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // safe: the constants are small
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let code = getaddrinfo(host, nil, &hints, &list)
        let fault = errno
        defer { if let list { freeaddrinfo(list) } }
        // without a socket the resolver contacts no server, and reports that the name cannot be found now
        if code != 0, fault == EMFILE || fault == ENFILE { return .failure(withoutSocket(host, fault)) }
        guard code == 0 else { return .failure(failure(host, code)) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = address(entry), !found.contains(address) { found.append(address) }
            next = entry.ai_next
        }
        return found.isEmpty ? .failure(failure(host, EAI_NONAME)) : .success(found)
    }

    private static func address(_ entry: addrinfo) -> SocketAddress? {
        guard let raw = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET: return SocketAddress(raw.loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: return SocketAddress(raw.loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
    }

    private static func withoutSocket(_ host: String, _ code: CInt) -> HTTPFailure {
        let text = "the host name \(host) could not be looked up: the service has too many open files (try again later)"
        let reason = String(cString: strerror(code))
        // safe: CInt is narrower
        return HTTPFailure(.tooManyOpenFiles, text, phase: .resolve, underlying: .init(.posix, Int(code), reason))
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
        // retryable only for EAI_AGAIN; a missing name will not appear within seconds
        return HTTPFailure(
            .nameNotFound, message, phase: .resolve, retryable: code == EAI_AGAIN, underlying: underlying)
    }
}

extension HTTPURL {
    /// The addresses that need no lookup: of a numeric host, of localhost (RFC 6761 section 6.3), of a socket path. A
    /// dot at the end of the host makes no difference.
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
