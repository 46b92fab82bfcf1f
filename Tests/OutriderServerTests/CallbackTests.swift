// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderServer

struct CallbackTests {
    @Test func `a callback reaches the client, and its reply the method`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.ask", "{\"a\":2}")
        let callback = try await client.message()
        #expect(callback["method"] == .string("callback.test"))
        #expect(callback["params"] == .object(["a": .integer(2)]))
        #expect(callback["id"] == .integer(1_000_000_001))
        try await client.send("{\"id\":1000000001,\"error\":null,\"result\":{\"sum\":5}}\n")
        let reply = try await client.message()
        #expect(reply["result"]?["answer"] == .object(["sum": .integer(5)]))
        #expect(reply["result"]?["id"] == .integer(1_000_000_001))
        try await server.stop()
    }

    @Test func `the client's error is passed on`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.ask")
        _ = try await client.message()
        try await client.send(
            "[{\"jsonrpc\":\"2.0\",\"id\":1000000001,\"error\":{\"code\":-32601,\"message\":\"no handler\"}}]\n")
        let reply = try await client.message()
        #expect(reply.errorCode == -32021)
        #expect(reply["error"]?["data"]?["error"]?["message"] == .string("no handler"))
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `a callback without a reply in time is over`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.ask", "{\"timeout\":0.2}")
        _ = try await client.message()
        let reply = try await client.message()
        #expect(reply.errorCode == -32020)
        #expect(reply["error"]?["data"]?["method"] == .string("callback.test"))
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1000000001,\"result\":{}}\n")
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `a client that ended its input can reply to nothing`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.ask")
        let callback = try await client.message()
        #expect(callback["method"] != nil)
        client.endInput()
        let text = try await client.rest()
        #expect(text.contains("\"id\":1,\"error\":{\"code\":-32022"))
        try await server.stop()
    }

    @Test func `cancelling the call cancels the callback, and tells the client`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.ask")
        _ = try await client.message()
        try await client.send("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n")
        let cancel = try await client.message()
        #expect(cancel["method"] == .string("$/cancelRequest"))
        #expect(cancel["params"] == .object(["id": .integer(1_000_000_001)]))
        #expect(try await client.message().errorCode == -32800)
        try await server.stop()
    }

    @Test func `events come before the reply, and what is put off after it`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.flood", "{\"count\":50,\"bytes\":1}")
        for number in 0..<50 {
            let event = try await client.message()
            #expect(event["params"]?["n"] == .integer(Int64(number)))
        }
        #expect(try await client.message()["id"] == .integer(1))
        try await client.call(2, "test.after")
        #expect(try await client.message()["id"] == .integer(2))
        #expect(try await client.message()["method"] == .string("test.afterwards"))
        try await server.stop()
    }
}
