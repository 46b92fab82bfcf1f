// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderServer

/// No memory at all for long messages.
private final class NoMemory: PayloadMemory {
    let refused = Atomic(0)

    func take(_ bytes: Int) -> (any PayloadCharge)? { nil }
    func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 { 1 }
    func cancelWait(_ id: UInt64) {}
    func hold(_ bytes: Int) -> (any PayloadCharge)? { nil }
    func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) { done(nil) }
    func countRefusal() { refused.wrappingAdd(1, ordering: .relaxed) }
}

struct MemoryRefusalTests {
    private static var settings: ServerSettings {
        var settings = TestServer.settings
        settings.limits.memoryPatience = .milliseconds(20)
        return settings
    }

    /// A call whose message ends with `pad`, and a callback's reply.
    private static func long(_ id: Int, _ pad: Int) -> String {
        "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"test.echo\",\"params\":{\"a\":\""
            + String(repeating: "y", count: pad) + "\"}}\n"
    }

    @Test(arguments: [100_000, 3_000_000])
    func `a message without memory is refused alone`(_ size: Int) async throws {
        let server = try await TestServer(Self.settings)
        let memory = NoMemory()
        server.record.memory.withLock { $0 = memory }
        let client = try server.client()
        try await client.call(1, "test.gate", "{}")
        let long = Self.long(2, size)
        // a part first: the rest is skipped as it comes
        let cut = long.index(long.startIndex, offsetBy: 80_000)
        try await client.send(String(long[..<cut]))
        let refusal = try await client.message()
        #expect(refusal["id"] == .integer(2) && refusal.errorCode == -32011)
        #expect(refusal["error"]?["data"]?["what"] == .string("memory"))
        try await client.send(long[cut...] + "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"test.echo\"}\n")
        #expect(try await client.message()["id"] == .integer(3))
        // the call that ran before ends as if nothing had happened
        server.record.openGate()
        #expect(try await client.message()["id"] == .integer(1))
        #expect(memory.refused.load(ordering: .relaxed) == 1)
        try await server.stop()
    }

    @Test func `a callback whose reply finds no memory ends with the reason`() async throws {
        let server = try await TestServer(Self.settings)
        server.record.memory.withLock { $0 = NoMemory() }
        let client = try server.client()
        try await client.call(1, "test.ask", "{}")
        let callback = try await client.message()
        let id = try #require(callback["id"]?.integer)
        let pad = String(repeating: "y", count: 100_000)
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{\"a\":\"\(pad)\"}}\n")
        let reply = try await client.message()
        #expect(reply["id"] == .integer(1) && reply.errorCode == -32021)
        #expect(reply["error"]?["message"]?.string?.contains("--memory") == true)
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `a reply without room in memory and on disk fails its call alone, in its turn`() async throws {
        let server = try await TestServer(Self.settings)
        let memory = NoMemory()
        server.record.memory.withLock { $0 = memory }
        let client = try server.client()
        try await client.call(1, "test.blob", "{\"bytes\":100000}")
        try await client.call(2, "test.echo", "{}")
        try await client.call(3, "test.blob", "{\"bytes\":3000000}")
        for id: Int64 in [1, 2, 3] {
            let reply = try await client.message()
            #expect(reply["id"] == .integer(id))
            guard id != 2 else { continue }
            #expect(reply.errorCode == -32011 && reply["error"]?["data"]?["what"] == .string("memory"))
            #expect(reply["error"]?["message"]?.string?.contains("--memory") == true)
        }
        #expect(memory.refused.load(ordering: .relaxed) == 2)
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test(arguments: [false, true])
    func `a reply without room fails its place in a batch alone`(hasHeader: Bool) async throws {
        let server = try await TestServer(Self.settings)
        server.record.memory.withLock { $0 = NoMemory() }
        let client = try server.client()
        let calls = [("test.blob", 100_000), ("test.echo", 1), ("test.blob", 200_000)].enumerated().map { id, call in
            "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(call.0)\",\"params\":{\"bytes\":\(call.1)}}"
        }
        let batch = "[\(calls.joined(separator: ","))]"
        try await client.send(hasHeader ? "Content-Length: \(batch.utf8.count)\r\n\r\n\(batch)" : batch + "\n")
        client.endInput()
        var text = Substring(try await client.rest())
        if hasHeader {
            let end = try #require(text.firstRange(of: "\r\n\r\n"))
            #expect(text[..<end.lowerBound] == "Content-Length: \(text[end.upperBound...].utf8.count)")
            text = text[end.upperBound...]
        }
        let replies = try #require(try JSONParser.parse(Array(text.utf8)).array)
        #expect(replies.map { $0["id"] } == [.integer(0), .integer(1), .integer(2)])
        #expect(replies.map(\.errorCode) == [-32011, nil, -32011])
        try await server.stop()
    }

    @Test func `a callback without room fails, and the connection goes on`() async throws {
        let server = try await TestServer(Self.settings)
        server.record.memory.withLock { $0 = Gap() }
        let client = try server.client()
        let pad = String(repeating: "y", count: 100_000)
        try await client.call(1, "test.ask", "{\"pad\":\"\(pad)\"}")
        let reply = try await client.message()
        #expect(reply["id"] == .integer(1) && reply.errorCode == -32011)
        #expect(reply["error"]?["message"]?.string?.contains("the callback of") == true)
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `an event without room is dropped and counted if it may be, else the connection ends`() async throws {
        let server = try await TestServer(Self.settings)
        server.record.memory.withLock { $0 = NoMemory() }
        let client = try server.client()
        try await client.call(1, "test.flood", "{\"count\":3,\"bytes\":100000,\"droppable\":true}")
        var dropped: Int64 = 0
        while true {
            let message = try await client.message()
            if message["id"] == .integer(1) { break }
            #expect(message["method"] == .string("event.dropped"))
            dropped += message["params"]?["count"]?.integer ?? 0
        }
        try await client.call(2, "test.echo", "{}")
        while dropped < 3 {
            let message = try await client.message()
            dropped += message["params"]?["count"]?.integer ?? 0
        }
        #expect(dropped == 3)
        try await client.call(3, "test.flood", "{\"count\":1,\"bytes\":100000}")
        let rest = try await client.rest()
        #expect(!rest.contains("test.tick"))
        try await server.stop()
    }
}

/// Memory for messages that come, and none for messages that leave.
private final class Gap: PayloadMemory {
    private final class Charge: PayloadCharge {
        let isBeyond = false
        let bytes = 0
        func grow(by more: Int) -> Bool { true }
        func take(over other: any PayloadCharge) {}
        func giveWay() {}
        func release() {}
    }

    private let taken = Atomic(0)

    /// The message of the call takes memory twice at most; a later callback leaves.
    func take(_ bytes: Int) -> (any PayloadCharge)? {
        taken.wrappingAdd(1, ordering: .relaxed).newValue <= 1 ? Charge() : nil
    }
    func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 { 1 }
    func cancelWait(_ id: UInt64) {}
    func hold(_ bytes: Int) -> (any PayloadCharge)? { nil }
    func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) { done(nil) }
    func countRefusal() {}
}
