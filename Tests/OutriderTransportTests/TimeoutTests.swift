// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Testing

/// Every wait ends, by a timeout or by cancelling.
@Suite(.timeLimit(.minutes(1)))
struct TimeoutTests {
    /// A resolver that never responds.
    private struct SilentResolver: NameResolver {
        func addresses(
            of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
        ) -> EventLoopFuture<[SocketAddress]> {
            loop.scheduleTask(in: .minutes(5)) { [] }.futureResult
        }
    }

    @Test func `a name that is not found in time`() async throws {
        let transport = HTTPTransport(group: testGroup.next(), resolver: SilentResolver())
        var attempt = Attempt.local(80)
        attempt.url.host = "example.test"
        attempt.timeouts.resolve = 0.1
        let failure = await transport.failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .resolve && failure?.sent == .notSent)
        #expect(failure?.message == "example.test: looking up the name took more than 0.1 s")
        #expect(await transport.counts().busy == 0)
    }

    @Test func `a name that does not exist`() async throws {
        var attempt = Attempt.local(80)
        attempt.url.host = "does-not-exist.invalid"
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .nameNotFound && failure?.phase == .resolve)
        #expect(failure?.message.hasPrefix("the host name does-not-exist.invalid was not found: ") == true)
        #expect(failure?.underlying?.domain == .dns)
    }

    @Test func `a connection that is not accepted`() async throws {
        let deaf = try DeafPort()
        var attempt = Attempt.local(deaf.port)
        attempt.timeouts.connect = 0.1
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .connect && failure?.sent == .notSent)
        #expect(failure?.message == "127.0.0.1: connecting took more than 0.1 s")
        withExtendedLifetime(deaf) {}
    }

    @Test func `a server that does not respond`() async throws {
        let server = try await ScriptedServer { _ in [] }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.firstByte = 0.1
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .firstByte && failure?.sent == .maybeSent)
        #expect(failure?.message == "127.0.0.1: waiting for the first byte of the response took more than 0.1 s")
        await server.close()
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"])
    func `a response that stalls`(beginning: String) async throws {
        let server = try await ScriptedServer { _ in [.send(beginning)] }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.idle = 0.1
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .response && failure?.sent == .sent)
        #expect(failure?.message == "127.0.0.1: waiting for the next part of the response took more than 0.1 s")
        await server.close()
    }

    /// A head of 60 bytes, a byte every 100 ms.
    private static let drippingHead =
        [ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nX: ")]
        + (0..<60).flatMap { _ in [ScriptedServer.Step.send("x"), .pause(0.1)] }
        + [.send("\r\nContent-Length: 2\r\n\r\nok")]

    @Test(arguments: ["GET", "POST"])
    func `a head that drips must be complete before the deadline of the first byte`(method: String) async throws {
        let server = try await ScriptedServer { _ in Self.drippingHead }
        var attempt = Attempt.local(server.port, method: method, body: method == "POST" ? .bytes([1, 2, 3]) : .none)
        attempt.timeouts.firstByte = 3
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .firstByte && failure?.sent == .sent)
        #expect(failure?.message == "127.0.0.1: receiving the head of the response took more than 3 s")
        // a deadline after its end is none
        attempt.timeouts.firstByte = 20
        #expect(try await makeTransport().wholeResponse(attempt).text == "ok")
        await server.close()
    }

    @Test func `a head that begins before the request is sent has the same deadline`() async throws {
        // the server never takes the body, and drips: neither may keep the attempt alive
        let server = try await ScriptedServer(readsBodies: false) { _ in Self.drippingHead + [.pause(60)] }
        let body = [UInt8](repeating: 1, count: 16 << 20)
        var attempt = Attempt.local(server.port, method: "POST", body: .bytes(body))
        attempt.timeouts.firstByte = 0.5
        attempt.timeouts.idle = 20
        let began = ContinuousClock.now
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .firstByte)
        #expect(ContinuousClock.now - began < .seconds(15))
        await server.close()
    }

    @Test func `an informational head starts the deadline of the head anew`() async throws {
        let processing = (0..<4).flatMap { _ in
            [ScriptedServer.Step.pause(0.8), .send("HTTP/1.1 102 Processing\r\n\r\n")]
        }
        let server = try await ScriptedServer { _ in
            processing + [.pause(0.8), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
        }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.firstByte = 3
        attempt.timeouts.idle = 0.2
        #expect(try await makeTransport().wholeResponse(attempt).text == "ok")
        let slow = try await ScriptedServer { _ in [.send("HTTP/1.1 102 Processing\r\n\r\n")] + Self.drippingHead }
        attempt.timeouts.idle = 20
        attempt.timeouts.firstByte = 0.5
        attempt.url.port = slow.port
        #expect(await makeTransport().failure(attempt)?.phase == .firstByte)
        await server.close()
        await slow.close()
    }

    @Test func `a response that drips is silent never, but too long in all`() async throws {
        let drip = (0..<10).flatMap { _ in [ScriptedServer.Step.send("x"), .pause(0.2)] }
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")] + drip }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.idle = 1.8
        #expect(try await makeTransport().wholeResponse(attempt).text == "xxxxxxxxxx")
        attempt.timeouts.total = 0.15
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .total)
        #expect(failure?.message.hasPrefix("127.0.0.1 took more than 0.15 s in all") == true)
        await server.close()
    }

    /// A byte every 30 ms is no silence, and not what was wanted.
    private static func drip(_ count: Int) -> [ScriptedServer.Step] {
        [.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")]
            + (0..<count).flatMap { _ in [ScriptedServer.Step.send("x"), .pause(0.03)] }
    }

    @Test func `a response that drips has to keep to a rate that was asked for`() async throws {
        // the time counts while a reader waits: readers of a busy machine wait little, and the body must outlast that
        let server = try await ScriptedServer { _ in Self.drip(1000) }
        let short = try await ScriptedServer { _ in Self.drip(30) }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.idle = 0.5
        attempt.timeouts.minimumRate = 10_000
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .response && failure?.sent == .sent)
        #expect(
            failure?.message.hasPrefix("127.0.0.1: in 0.5 s of waiting for the next part of the response moved ")
                == true)
        #expect(failure?.message.hasSuffix(" bytes, and minRate wants 10000 a second") == true)
        // one that a byte now and then keeps to
        attempt.timeouts.idle = 20
        attempt.timeouts.minimumRate = 1
        attempt.url.port = short.port
        #expect(try await makeTransport().wholeResponse(attempt).text.count == 30)
        await server.close()
        await short.close()
    }

    @Test func `a rate is met by what comes in one go, and begins anew then`() async throws {
        let much = String(repeating: "y", count: 100_000)
        let server = try await ScriptedServer { _ in
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"), .pause(0.02), .send(much), .pause(0.3),
                .send(much),
            ]
        }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.idle = 20
        attempt.timeouts.minimumRate = 4000
        #expect(try await makeTransport().wholeResponse(attempt).text.count == 200_000)
        await server.close()
    }

    @Test func `a request that is not read stalls`() async throws {
        let server = try await ScriptedServer(isDeaf: true) { _ in [] }
        var attempt = Attempt.local(server.port, method: "POST", body: .bytes([UInt8](repeating: 1, count: 32 << 20)))
        attempt.timeouts.idle = 0.2
        let failure = await makeTransport().failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .request && failure?.sent == .maybeSent)
        await server.close()
    }

    @Test func `waiting for a place counts into the total`() async throws {
        let server = try await ScriptedServer { _ in [] }
        let transport = makeTransport()
        var attempt = Attempt.local(server.port)
        attempt.connectionsPerHost = 1
        let first = Task { [attempt] in await transport.failure(attempt) }
        attempt.timeouts.total = 0.1
        #expect(try await transport.comesTo { $0.busy == 1 })
        let failure = await transport.failure(attempt)
        #expect(failure?.kind == .timedOut && failure?.phase == .total && failure?.sent == .notSent)
        #expect(failure?.message.contains("waiting for one of 1 connections") == true)
        first.cancel()
        #expect(await first.value?.kind == .explicitlyCancelled)
        await server.close()
    }

    /// Writes to a slow disk before the first byte, as the helper of credentials does.
    private final class SlowObserver: AttemptObserver {
        func sending(_ control: any AttemptControl) {
            control.hold()
            usleep(1_200_000)
            control.release()
        }
        func bodySent(_ bytes: Int64, onWire: Int64?) {}
        func informational(_: ResponseHead) {}
    }

    @Test func `what an observer does in a hold before the first byte counts into no limit`() async throws {
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")] }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.total = 1
        let response = try await makeTransport().send(attempt, observer: SlowObserver())
        #expect(response.status == 200)
        await server.close()
    }

    @Test func `a reader that takes its time is no stall`() async throws {
        let server = try await ScriptedServer { _ in
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .pause(0.05), .send("hello")]
        }
        var attempt = Attempt.local(server.port)
        attempt.timeouts.idle = 0.1
        let response = try await makeTransport().send(attempt, observer: RecordingObserver())
        try await testGroup.next().scheduleTask(in: .milliseconds(300)) {}.futureResult.get()
        var text = ""
        while let piece = try await response.body.next() { text += String(buffer: piece) }
        #expect(text == "hellohello")
        await server.close()
    }

    @Test(arguments: [true, false])
    func `cancelling ends an attempt wherever it is`(isOnLoop: Bool) async throws {
        let deaf = try DeafPort()
        let server = try await ScriptedServer { request in
            request.path == "/body" ? [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")] : []
        }
        let transport = HTTPTransport(group: testGroup.next(), resolver: SilentResolver())
        var named = Attempt.local(80)
        named.url.host = "example.test"
        let attempts = [named, .local(deaf.port), .local(server.port), .local(server.port, "/body")]
        for attempt in attempts {
            let body: @Sendable () async -> HTTPFailure? = { await transport.failure(attempt) }
            let executor = isOnLoop ? LoopExecutor(testGroup.next()) : nil
            let task = Task(executorPreference: executor) { await body() }
            #expect(try await transport.comesTo { $0.busy == 1 })
            if attempt.url.target == "/body" {
                try await testGroup.next().scheduleTask(in: .milliseconds(30)) {}.futureResult.get()
            }
            task.cancel()
            #expect(await task.value?.kind == .explicitlyCancelled)
            #expect(await transport.counts() == PoolMachine.Counts())
        }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await transport.failure(.local(server.port))
        }
        #expect(await early.value?.kind == .explicitlyCancelled)
        withExtendedLifetime(deaf) {}
        await server.close()
    }
}
