// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Synchronization
import Testing

/// From a host to a connection.
@Suite(.timeLimit(.minutes(1)))
struct ConnectingTests {
    private struct FixedResolver: NameResolver {
        var list: [SocketAddress]

        func addresses(
            of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
        ) -> EventLoopFuture<[SocketAddress]> {
            loop.makeSucceededFuture(list)
        }
    }

    /// Finds nothing, and keeps the name and the interest of the last lookup.
    private final class Watcher: NameResolver {
        let last = Mutex<(host: String, interest: LookupInterest)?>(nil)

        func addresses(
            of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
        ) -> EventLoopFuture<[SocketAddress]> {
            last.withLock { $0 = (host, interest) }
            return loop.scheduleTask(in: .minutes(5)) { [] }.futureResult
        }
    }

    private func named(_ host: String = "example.test") -> Attempt {
        var attempt = Attempt.local(80)
        attempt.url.host = host
        return attempt
    }

    private func address(_ host: String, _ port: Int) throws -> SocketAddress {
        try SocketAddress(ipAddress: host, port: port)
    }

    @Test func `the next address is tried when one refuses`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let resolver = try FixedResolver(list: [
            address("127.0.0.1", 1), address("::1", 1), address("127.0.0.1", server.port),
        ])
        let transport = HTTPTransport(group: testGroup.next(), resolver: resolver)
        let response = try await transport.wholeResponse(named())
        #expect(response.text == "hello" && response.timeline.remote == "127.0.0.1:\(server.port)")
        #expect(response.timeline.resolve != nil && response.timeline.connect != nil)
        #expect(server.requests[0].head.contains("\r\nHost: example.test\r\n"))
        await server.close()
    }

    @Test func `the next address is tried when one is slow, and the first to connect wins`() async throws {
        let deaf = try DeafPort()
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let resolver = try FixedResolver(list: [
            address("127.0.0.1", deaf.port), address("127.0.0.1", server.port),
        ])
        let transport = HTTPTransport(group: testGroup.next(), resolver: resolver)
        let response = try await transport.wholeResponse(named())
        #expect(response.text == "hello")
        let connect = try #require(response.timeline.connect)
        #expect(connect >= .milliseconds(240))
        withExtendedLifetime(deaf) {}
        await server.close()
    }

    @Test func `when all refuse, the failure names one`() async throws {
        let resolver = try FixedResolver(list: [address("127.0.0.1", 1), address("127.0.0.1", 2)])
        let failure = await HTTPTransport(group: testGroup.next(), resolver: resolver).failure(named())
        #expect(failure?.kind == .connectionRefused && failure?.message == "127.0.0.1:1 refused the connection")
    }

    @Test func `the policy judges the addresses that a name leads to`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        for (policy, kind) in [
            (AddressPolicy.notMetadata, HTTPFailure.Kind.redirectRefused), (.publicOnly, .addressRefused),
        ] {
            let resolver = try FixedResolver(list: [address("169.254.169.254", 80), address("fd00:ec2::254", 80)])
            var attempt = named()
            attempt.addresses = policy
            let failure = await HTTPTransport(group: testGroup.next(), resolver: resolver).failure(attempt)
            #expect(failure?.kind == kind && failure?.sent == .notSent && failure?.phase == .connect)
            #expect(failure?.message.contains("169.254.169.254") == true)
        }
        // an address that is permitted is connected to, and the others are not
        let mixed = try FixedResolver(list: [address("169.254.169.254", 80), address("127.0.0.1", server.port)])
        var attempt = named()
        attempt.addresses = .notMetadata
        let response = try await HTTPTransport(group: testGroup.next(), resolver: mixed).wholeResponse(attempt)
        #expect(response.text == "hello")
        await server.close()
    }

    @Test func `a dot at the end of localhost needs no resolver either`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = HTTPTransport(group: testGroup.next(), resolver: FixedResolver(list: []))
        for host in ["localhost.", "a.localhost.", "127.0.0.1."] {
            var attempt = Attempt.local(server.port)
            attempt.url.host = host
            #expect(try await transport.wholeResponse(attempt).text == "hello")
        }
        await server.close()
    }

    @Test func `localhost needs no resolver`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = HTTPTransport(group: testGroup.next(), resolver: FixedResolver(list: []))
        var attempt = Attempt.local(server.port)
        attempt.url.host = "localhost"
        let response = try await transport.wholeResponse(attempt)
        #expect(response.text == "hello" && response.timeline.resolve == nil)
        await server.close()
    }

    @Test func `the system's resolver finds what the system knows`() async throws {
        let resolver = SystemResolver()
        let found = try await resolver.addresses(
            of: "localhost", port: 81, for: .service, LookupInterest(), on: testGroup.next()
        ).get()
        #expect(!found.isEmpty && found.allSatisfy { $0.port == 81 && ["127.0.0.1", "::1"].contains($0.ipAddress) })
    }

    @Test func `a lookup that is not awaited any more does not run`() async throws {
        let watcher = Watcher()
        var attempt = named("example.test.")
        attempt.timeouts.resolve = 0.1
        let failure = await HTTPTransport(group: testGroup.next(), resolver: watcher).failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .resolve)
        let (host, interest) = try #require(watcher.last.withLock { $0 })
        // a dot at the end keeps the resolver from its list of domains
        #expect(host == "example.test." && !interest.exists)
        await #expect(throws: CancellationError.self) {
            try await SystemResolver().addresses(
                of: "localhost", port: 81, for: .service, interest, on: testGroup.next()
            ).get()
        }
    }

    @Test func `requests that begin together share the lookup of a name`() async throws {
        // one thread, which is busy, and a single lookup may wait for it
        let threads = BlockingThreads(1, name: "test", mostWaiting: 1)
        let gate = testGroup.next().makePromise(of: Void.self)
        threads.run(for: .service) { try? gate.futureResult.wait() }
        let resolver = SystemResolver(threads: threads)
        let ports = [81, 82, 83]
        let lookups = ports.map {
            resolver.addresses(of: "localhost", port: $0, for: .service, LookupInterest(), on: testGroup.next())
        }
        gate.succeed()
        for (port, lookup) in zip(ports, lookups) {
            let found = try await lookup.get()
            #expect(!found.isEmpty && found.allSatisfy { $0.port == port })
        }
    }

    @Test func `lookups without end are refused`() async throws {
        // one thread, which hangs, and no lookup may wait for it
        let threads = BlockingThreads(1, name: "test", mostWaiting: 0)
        let gate = testGroup.next().makePromise(of: Void.self)
        threads.run(for: .service) { try? gate.futureResult.wait() }
        defer { gate.succeed() }
        let resolver = SystemResolver(threads: threads)
        let failure = await HTTPTransport(group: testGroup.next(), resolver: resolver).failure(named())
        #expect(failure?.kind == .limitExceeded && failure?.phase == .resolve)
    }

    @Test func `a Unix socket is connected to by its path`() async throws {
        let path = try TestCertificates.path("server.sock")
        let server = try await ScriptedServer(path: path) { _ in [.ok("hello")] }
        var attempt = Attempt.local(80, "/a")
        attempt.url.socketPath = path
        let transport = makeTransport()
        for isReused in [false, true] {
            let response = try await transport.wholeResponse(attempt)
            #expect(
                response.text == "hello" && response.timeline.remote == path && response.timeline.reused == isReused)
        }
        #expect(server.requests[0].head.contains("\r\nHost: localhost\r\n"))
        await server.close()
        attempt.url.socketPath = path + "-gone"
        let gone = await transport.failure(attempt)
        #expect(gone?.kind == .connectionRefused && gone?.message == "there is no socket at \(path)-gone")
        attempt.url.socketPath = "/" + String(repeating: "x", count: 200)
        #expect(await transport.failure(attempt)?.kind == .invalidURL)
    }
}
