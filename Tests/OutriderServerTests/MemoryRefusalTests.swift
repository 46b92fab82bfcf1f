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
        let question = try await client.message()
        let id = try #require(question["id"]?.integer)
        let pad = String(repeating: "y", count: 100_000)
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{\"a\":\"\(pad)\"}}\n")
        let reply = try await client.message()
        #expect(reply["id"] == .integer(1) && reply.errorCode == -32021)
        #expect(reply["error"]?["message"]?.string?.contains("--memory") == true)
        #expect(try await client.isAlive())
        try await server.stop()
    }
}
