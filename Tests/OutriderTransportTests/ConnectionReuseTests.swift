// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization
import Testing

/// Which connection carries which request.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionReuseTests {
    private func until(_ transport: HTTPTransport, _ holds: (PoolMachine.Counts) -> Bool) async throws {
        #expect(try await transport.comesTo(holds))
    }

    @Test func `an idle connection that the server ends is not lent again`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello"), .close] }
        let transport = makeTransport()
        for _ in 0..<3 {
            let response = try await transport.wholeResponse(.local(server.port, method: "POST"))
            #expect(response.text == "hello" && !response.timeline.reused)
            try await until(transport) { $0.idle == 0 }
        }
        await server.close()
    }

    @Test func `an idle connection that talks unasked is closed`() async throws {
        let server = try await ScriptedServer { request in
            request.path == "/next" ? [.ok("good")] : [.ok("hello"), .pause(0.02), .ok("POISON")]
        }
        let transport = makeTransport()
        #expect(try await transport.wholeResponse(.local(server.port)).text == "hello")
        try await until(transport) { $0.idle == 0 }
        let next = try await transport.wholeResponse(.local(server.port, "/next"))
        #expect(next.text == "good" && !next.timeline.reused)
        await server.close()
    }

    @Test(
        arguments: [
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
        ], [true, false])
    func `a body behind a response that has none spoils no other`(_ head: String, isLate: Bool) async throws {
        // at once, or only with the next response on the same connection
        let body = "stray\r\n0\r\n\r\n"
        let server = try await ScriptedServer { request in
            switch (request.path, request.number) {
            case ("/first", _): [.send(isLate ? head : head + body)]
            case (_, 0): [.ok("good")]
            default: isLate ? [.send(body), .ok("good")] : [.ok("good")]
            }
        }
        let transport = makeTransport()
        for _ in 0..<3 {
            let first = try await transport.wholeResponse(.local(server.port, "/first"))
            #expect([204, 304].contains(first.status) && first.text.isEmpty)
            let next = try await transport.wholeResponse(.local(server.port, "/next"))
            #expect(next.status == 200 && next.text == "good" && !next.timeline.reused)
        }
        #expect(await transport.counts().busy == 0)
        await server.close()
    }

    @Test func `responses of every form follow one another on a connection`() async throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nother\r\n0\r\n\r\n"
        let steps: [[ScriptedServer.Step]] = [
            [.ok("plain")], [.send(chunked)], [.ok("plain")],
            [.send("HTTP/1.1 200 OK\r\nContent-Len"), .send("gth: 5\r\n\r\no"), .send("ther")],
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\npl"), .send("ain")],
            [.send("HTTP/1.1 100 Continue\r\n\r\n" + chunked)], [.ok("")], [.send(chunked)], [.ok("plain")],
        ]
        let server = try await ScriptedServer { request in steps[request.number % steps.count] }
        let transport = makeTransport()
        var texts: [String] = []
        for _ in steps { texts.append(try await transport.wholeResponse(.local(server.port)).text) }
        #expect(texts == ["plain", "other", "plain", "other", "plain", "other", "", "other", "plain"])
        #expect(server.connections == 1)
        await server.close()
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH"])
    func `a request that meets a dying connection is sent again once, if it may be`(method: String) async throws {
        let server = try await ScriptedServer { request in
            request.number == 0 ? [.send("HTTP/1.1 204 No Content\r\n\r\n")] : [.close]
        }
        let transport = makeTransport()
        _ = try await transport.wholeResponse(.local(server.port))
        let attempt = Attempt.local(server.port, "/again", method: method)
        if ["POST", "PATCH"].contains(method) {
            let failure = await transport.failure(attempt)
            #expect(failure?.kind == .connectionLost && failure?.sent == .maybeSent)
            #expect(server.requests.filter { $0.path == "/again" }.count == 1)
        } else {
            let response = try await transport.wholeResponse(attempt)
            #expect(response.status == 204 && !response.timeline.reused)
            // what the first connection took counts as waiting for the second
            let timeline = response.timeline
            let phases = [timeline.queue, timeline.connect, timeline.request, timeline.firstByte, timeline.response]
            #expect(phases.reduce(.zero) { $0 + ($1 ?? .zero) } == timeline.total)
            #expect(server.requests.filter { $0.path == "/again" }.count == 2)
        }
        #expect(await transport.counts().busy == 0)
        await server.close()
    }

    @Test func `a request on a fresh connection is not sent again`() async throws {
        let server = try await ScriptedServer { _ in [.close] }
        let failure = await makeTransport().failure(.local(server.port))
        #expect(failure?.kind == .connectionLost)
        #expect(server.requests.count == 1)
        await server.close()
    }

    @Test func `a request is sent again once, not twice`() async throws {
        let server = try await ScriptedServer { request in request.path == "/again" ? [.close] : [.ok("first")] }
        let transport = makeTransport()
        _ = try await transport.wholeResponse(.local(server.port))
        #expect(await transport.failure(.local(server.port, "/again"))?.kind == .connectionLost)
        #expect(server.requests.filter { $0.path == "/again" }.count == 2)
        await server.close()
    }

    @Test func `no more connections than allowed are open, and all requests get responses`() async throws {
        let server = try await ScriptedServer { request in [.pause(0.001), .ok(request.path)] }
        let transport = makeTransport()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                var attempt = Attempt.local(server.port, "/\(number)")
                attempt.connectionsPerHost = 3
                group.addTask { [attempt] in try await transport.wholeResponse(attempt).text == "/\(number)" }
            }
            for try await right in group { #expect(right) }
        }
        #expect(server.connections == 3)
        #expect(await transport.counts() == PoolMachine.Counts(busy: 0, idle: 3, waiting: 0))
        await server.close()
    }

    @Test func `a waiter that is cancelled leaves the queue`() async throws {
        let server = try await ScriptedServer { request in request.path == "/slow" ? [] : [.ok("hello")] }
        let transport = makeTransport()
        var slow = Attempt.local(server.port, "/slow")
        slow.connectionsPerHost = 1
        let first = Task { [slow] in await transport.failure(slow) }
        try await until(transport) { $0.busy == 1 }
        let second = Task { [slow] in await transport.failure(slow) }
        try await until(transport) { $0.waiting == 1 }
        second.cancel()
        #expect(await second.value?.kind == .explicitlyCancelled)
        #expect(await transport.counts().waiting == 0)
        first.cancel()
        #expect(await first.value?.kind == .explicitlyCancelled)
        var next = Attempt.local(server.port)
        next.connectionsPerHost = 1
        #expect(try await transport.wholeResponse(next).text == "hello")
        await server.close()
    }

    @Test func `idle connections expire`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        var settings = HTTPTransport.Settings()
        settings.pool.idleSeconds = 0.05
        let transport = makeTransport(settings)
        _ = try await transport.wholeResponse(.local(server.port))
        try await until(transport) { $0.idle == 0 }
        await server.close()
    }

    @Test func `flushing ends idle connections`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = makeTransport()
        _ = try await transport.wholeResponse(.local(server.port))
        transport.flush()
        #expect(await transport.counts().idle == 0)
        await server.close()
    }

    @Test func `a body that is not read gives its connection up`() async throws {
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx")] }
        let transport = makeTransport()
        _ = try await transport.send(.local(server.port), observer: RecordingObserver())
        try await until(transport) { $0.busy == 0 }
        let response = try await transport.send(.local(server.port), observer: RecordingObserver())
        response.body.abandon()
        try await until(transport) { $0.busy == 0 }
        await #expect(throws: HTTPFailure.self) { while try await response.body.next() != nil {} }
        await server.close()
    }
}
