// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderServer

struct EndsTests {
    @Test func `half-closed clients get replies, and kept waiting with spaces`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.gate", "{\"a\":1}")
        client.endInput()
        // the reply does not come before the first space does
        #expect(try await client.next() == " ")
        server.record.openGate()
        let text = try await client.rest()
        #expect(text.drop { $0 == " " } == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n")
        #expect(server.record.now.inputEnded == 1)
        #expect(try await server.reaches { $0.closed == 1 })
        try await server.stop()
    }

    @Test func `there are no spaces in header framing, nor when they are turned off`() async throws {
        var settings = TestServer.settings
        settings.pad = false
        let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test.sleep\",\"params\":{\"seconds\":0.6}}"
        for (settings, text) in [
            (TestServer.settings, "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"), (settings, body),
        ] {
            let server = try await TestServer(settings)
            let client = try server.client()
            try await client.send(text)
            client.endInput()
            let reply = try await client.rest()
            #expect(reply.hasPrefix("Content-Length: ") || reply.hasPrefix("{"))
            #expect(reply.contains("0.6"))
            try await server.stop()
        }
    }

    @Test func `a vanished client's calls are cancelled at once, and its scope closed once`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":60}")
        try await client.call(2, "test.echo")
        _ = try await client.message()
        client.close()
        #expect(try await server.reaches { $0.cancelled == 1 && $0.closed == 1 })
        #expect(try await server.client().isAlive())
        try await server.stop()
        #expect(server.record.now.closed == server.record.now.opened)
    }

    @Test func `a half-closed client that then vanishes is noticed`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":60}")
        client.endInput()
        #expect(try await server.reaches { $0.inputEnded == 1 })
        client.close()
        #expect(try await server.reaches { $0.cancelled == 1 && $0.closed == 1 })
        try await server.stop()
    }

    @Test func `a client that does not read costs the others nothing`() async throws {
        let server = try await TestServer()
        let slow = try server.client()
        try await slow.call(1, "test.flood", "{\"count\":5000,\"bytes\":4000}")
        let quick = try server.client()
        for _ in 0..<20 { #expect(try await quick.isAlive()) }
        var count = 0
        while try await slow.message()["method"] != nil { count += 1 }
        #expect(count == 5000)
        try await server.stop()
    }

    @Test func `a client that asks for much and reads nothing is given up`() async throws {
        var settings = TestServer.settings
        settings.limits.outbox.patience = .milliseconds(600)
        let server = try await TestServer(settings)
        let client = try server.client()
        var text = ""
        for id in 1...100 {
            text += "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"test.blob\",\"params\":{\"bytes\":1000000}}\n"
        }
        try await client.send(text)
        #expect(try await server.reaches { $0.inputEnded == 1 })
        // what it asked for beyond 8 MiB was not even begun
        #expect((8...12).contains(server.record.now.blobs))
        let lines = try await client.rest().split(separator: "\n")
        #expect(lines.count < 100)
        #expect(lines.last?.contains("-32016") == true)
        #expect(lines.last?.contains("\"data\":{\"limit\":8388608}") == true)
        #expect(try await server.reaches { $0.closed == 1 })
        try await server.stop()
    }

    @Test func `a client that reads gets its replies, however much it asks for at once`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        var text = ""
        for id in 1...100 {
            text += "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"test.blob\",\"params\":{\"bytes\":1000000}}\n"
        }
        try await client.send(text)
        client.endInput()
        let lines = try await client.rest().split(separator: "\n")
        #expect(lines.count == 100)
        #expect(lines.allSatisfy { $0.utf8.count > 1_000_000 })
        try await server.stop()
    }

    @Test func `events that may be lost are replaced, dropped and counted [W11]`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.offers", "{\"count\":1000,\"bytes\":10}")
        let only = try await client.message()
        #expect(only["params"]?["n"] == .integer(999))
        #expect(try await client.message()["id"] == .integer(1))
        try await client.call(2, "test.offers", "{\"count\":3000,\"bytes\":1000,\"keys\":true}")
        var offered = 0
        var dropped: Int64 = 0
        var hasReply = false
        while !hasReply || Int64(offered) + dropped < 3000 {
            let message = try await client.message()
            if message["method"] == .string("test.offer") { offered += 1 }
            if message["method"] == .string("event.dropped") { dropped += message["params"]?["count"]?.integer ?? 0 }
            if message["id"] == .integer(2) { hasReply = true }
        }
        #expect(offered < 3000)
        #expect(server.server.counters.eventsDropped == Int(dropped))
        try await server.stop()
    }

    @Test func `a stopping service replies to running calls, refuses what comes, and ends`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.gate")
        try await client.send(
            """
            {"jsonrpc":"2.0","id":2,"method":"test.stop","params":{"grace":60}}
            {"jsonrpc":"2.0","id":3,"method":"test.echo"}

            """)
        #expect(try await client.message()["id"] == .integer(2))
        #expect(try await client.message().errorCode == -32017)
        server.record.openGate()
        let last = try await client.message()
        #expect(last["id"] == .integer(1))
        #expect(last["result"] != nil)
        #expect(try await server.status() == 0)
    }

    @Test func `calls that outlive the grace are cancelled, and say why`() async throws {
        // the service drops its clients two seconds after the grace
        let server = try await TestServer(loops: ServiceLoops(.fixed(1)))
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":60}")
        try await client.call(2, "test.stop", "{\"grace\":0.1}")
        #expect(try await client.message()["id"] == .integer(2))
        #expect(try await client.message().errorCode == -32017)
        #expect(try await server.status() == 0)
    }

    @Test func `an idle service ends, a busy one does not`() async throws {
        let isConnecting = Mutex(true)
        var settings = TestServer.settings
        settings.idleExit = .milliseconds(1500)
        settings.isBusy = { isConnecting.withLock { $0 } }
        let server = try await TestServer(settings)
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":2.5}")
        #expect(try await server.reaches { $0.opened == 1 })
        isConnecting.withLock { $0 = false }
        #expect(try await client.message()["result"] != nil)
        client.close()
        #expect(try await server.status() == 0)
    }

    @Test func `an idle service goes on with a client of the last moment`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/s.sock"
        // work begins each time that the socket has gone away for the end
        let hasBegun = Atomic(false)
        let isOver = Atomic(false)
        var settings = TestServer.settings
        settings.idleExit = .milliseconds(1)
        settings.isBusy = {
            guard access(path, F_OK) != 0, !isOver.load(ordering: .relaxed) else { return false }
            hasBegun.store(true, ordering: .relaxed)
            return true
        }
        let server = try await TestServer(settings, in: directory)
        #expect(try await server.reaches { _ in hasBegun.load(ordering: .relaxed) })
        // the socket comes back, and goes away again
        #expect(try await server.reaches { _ in (try? server.client()) != nil })
        isOver.store(true, ordering: .relaxed)
        #expect(try await server.status() == 0)
        #expect(access(path, F_OK) != 0)
    }

    @Test func `a service whose path is taken ends when there is neither a client nor work`() async throws {
        let directory = try TemporaryDirectory()
        let isBusy = Atomic(true)
        let looks = Atomic(0)
        var settings = TestServer.settings
        settings.isBusy = {
            looks.add(1, ordering: .relaxed)
            return isBusy.load(ordering: .relaxed)
        }
        let server = try await TestServer(settings, in: directory)
        func looksAgain() async throws -> Bool {
            let count = looks.load(ordering: .relaxed)
            return try await server.reaches { _ in looks.load(ordering: .relaxed) >= count + 3 }
        }
        let client = try server.client()
        #expect(try await client.isAlive())
        let other = try SocketFile(SocketPath("\(directory.path)/d.sock"))
        #expect(rename(other.path, server.path) == 0)
        #expect(try await looksAgain())
        client.close()
        #expect(try await server.reaches { $0.closed == 1 })
        #expect(try await looksAgain())
        #expect(!server.server.isStopping)
        // on the way to its loop
        server.server.came()
        isBusy.store(false, ordering: .relaxed)
        #expect(try await looksAgain())
        #expect(!server.server.isStopping)
        server.server.went()
        #expect(try await server.status() == 0)
        #expect(access(server.path, F_OK) == 0)
        close(other.descriptor)
        other.remove()
        unlink("\(other.path).lock")
    }

    @Test func `too many clients are told so`() async throws {
        var settings = TestServer.settings
        settings.limits.connections = 2
        let server = try await TestServer(settings)
        let (one, two) = (try server.client(), try server.client())
        #expect(try await one.isAlive())
        #expect(try await two.isAlive())
        let three = try server.client()
        let text = try await three.rest()
        #expect(text.contains("\"code\":-32011"))
        one.close()
        #expect(try await server.reaches { $0.closed == 1 })
        #expect(try await server.client().isAlive())
        try await server.stop()
    }
}
