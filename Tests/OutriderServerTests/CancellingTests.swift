// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderServer

struct CancellingTests {
    @Test(
        arguments: [
            #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#,
            #"{"method":"$\/cancelRequest","jsonrpc":"2.0","id":1}"#,
        ])
    func `a cancelled call gets one reply, with that reason`(_ cancel: String) async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":60}")
        try await client.send(cancel + "\n" + cancel + "\n")
        let reply = try await client.message()
        #expect(reply["id"] == .integer(1))
        #expect(reply.errorCode == -32800)
        try await client.call(2, "test.echo")
        #expect(try await client.message()["id"] == .integer(2))
        #expect(server.record.now.cancelled == 1)
        try await server.stop()
    }

    @Test func `a call cancelled the way of MCP gets no reply`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.sleep", "{\"seconds\":60}")
        try await client.send(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n")
        #expect(try await server.reaches { $0.cancelled == 1 })
        try await client.call(2, "test.echo")
        #expect(try await client.message()["id"] == .integer(2))
        try await server.stop()
    }

    @Test func `every call gets exactly one reply, whatever is cancelled meanwhile`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        var random = SystemRandomNumberGenerator()
        var text = ""
        for id in 1...200 {
            let seconds = Double.random(in: 0...0.05, using: &random)
            text += "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"test.sleep\",\"params\":{\"seconds\":\(seconds)}}\n"
            let victim = Int.random(in: 1...id, using: &random)
            text += "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":\(victim)}}\n"
        }
        try await client.send(text)
        client.endInput()
        let lines = try await client.rest().split(separator: "\n")
        let replies = try lines.map { try JSONParser.parse(Array($0.utf8.drop { $0 == 0x20 })) }
        let ids = replies.compactMap { $0["id"]?.integer }
        #expect(ids.sorted() == Array(1...200))
        #expect(replies.allSatisfy { $0["result"] != nil || $0.errorCode == -32800 })
        try await server.stop()
    }
}
