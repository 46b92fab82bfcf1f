// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderServer

struct ConnectionTests {
    @Test func `calls get replies in either framing`() async throws {
        let server = try await TestServer()
        let line = try server.client()
        try await line.call(1, "test.info")
        let info = try await line.message()
        #expect(info["result"]?["framing"] == .string("line"))
        #expect(info["result"]?["transport"] == .string("socket"))
        #expect(info["result"]?["uid"]?.integer ?? -1 >= 0)
        let header = try server.client()
        let body = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"test.info\"}"
        try await header.send("Content-Length: \(body.utf8.count)\r\nContent-Type: x/y; charset=utf8\r\n\r\n\(body)")
        header.endInput()
        let text = try await header.rest()
        #expect(text.hasPrefix("Content-Length: "))
        #expect(text.contains("\"id\":\"a\",\"result\":{"))
        #expect(text.contains("\"framing\":\"header\""))
        #expect(text.split(separator: "\r\n").count == 2)
        try await server.stop()
    }

    @Test func `calls start in the order in which they come, and replies may overtake`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.send(
            """
            {"jsonrpc":"2.0","id":1,"method":"test.gate"}
            {"jsonrpc":"2.0","id":2,"method":"test.echo","params":{}}
            {"jsonrpc":"2.0","id":3,"method":"test.echo","params":{}}

            """)
        var ids: [JSONValue?] = []
        for _ in 0..<2 { ids.append(try await client.message()["id"]) }
        server.record.openGate()
        ids.append(try await client.message()["id"])
        #expect(ids == [.integer(2), .integer(3), .integer(1)])
        try await server.stop()
    }

    @Test func `a large message is parsed elsewhere, and what follows waits for it`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        let large = String(repeating: "y", count: 300_000)
        try await client.send(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test.echo\",\"params\":{\"a\":\"\(large)\"}}\n"
                + "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"test.echo\",\"params\":{}}\n")
        let first = try await client.message()
        #expect(first["id"] == .integer(1))
        #expect(first["result"]?["a"] == .string(large))
        #expect(try await client.message()["id"] == .integer(2))
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `a call in a long message is computed away from the loop, and a short call in place`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        let pad = String(repeating: "y", count: 100_000)
        try await client.call(1, "test.double", "{\"number\":4}")
        #expect(try await client.message()["result"]?["doubled"] == .integer(8))
        #expect(server.record.now.computations == 0)
        try await client.call(2, "test.double", "{\"number\":5,\"pad\":\"\(pad)\"}")
        #expect(try await client.message()["result"]?["doubled"] == .integer(10))
        #expect(server.record.now.computations == 1)
        try await client.call(3, "test.double", "{\"number\":-5,\"pad\":\"\(pad)\"}")
        #expect(try await client.message()["error"]?["code"] == .integer(7))
        try await server.stop()
    }

    @Test(arguments: ["test.long", "test.longInline"])
    func `long parameters of a long message are decoded away from the loop`(_ method: String) async throws {
        let server = try await TestServer()
        let client = try server.client()
        let pad = String(repeating: "y", count: 100_000)
        for number in [4, 5] {
            for (rest, isFromLoop) in [("", true), (",\"pad\":\"\(pad)\"", false)] {
                try await client.call(number, method, "{\"number\":\(number)\(rest)}")
                let result = try await client.message()["result"]
                #expect(result?["number"] == .integer(Int64(number)))
                #expect(result?["isFromLoop"] == .bool(isFromLoop))
            }
        }
        try await client.call(3, method, "{\"number\":-1,\"pad\":\"\(pad)\"}")
        #expect(try await client.message()["error"]?["data"]?["pointer"] == .string("/number"))
        try await server.stop()
    }

    @Test func `a call with long parameters begins before the calls that follow, in a batch and alone`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        func call(_ id: Int, _ method: String, _ rest: String = "") -> String {
            "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":{\"number\":\(id)\(rest)}}"
        }
        let pad = ",\"pad\":\"\(String(repeating: "y", count: 100_000))\""
        let batch = "[\(call(1, "test.echo")),\(call(2, "test.long", pad)),\(call(3, "test.longInline", pad))]\n"
        try await client.send(batch + call(4, "test.long", pad) + "\n" + call(5, "test.echo") + "\n")
        let replies = try #require(try await client.message().array)
        #expect(replies.map { $0["result"]?["number"] } == [.integer(1), .integer(2), .integer(3)])
        for id: Int64 in [4, 5] { #expect(try await client.message()["id"] == .integer(id)) }
        try await server.stop()
    }

    @Test func `a result that may be long is written away from the loop by its own word`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        let pad = String(repeating: "y", count: 100_000)
        try await client.call(4, "test.longBoth", "{\"number\":5000,\"pad\":\"\(pad)\"}")
        #expect(try await client.message()["result"]?["text"]?.string?.utf8.count == 5000)
        #expect(server.record.now.computations == 1)
        try await server.stop()
    }

    @Test func `a long result is written away from the loop`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        for (id, (bytes, computations)) in [(1000, 0), (5_000_000, 1)].enumerated() {
            try await client.call(id, "test.text", "{\"bytes\":\(bytes)}")
            #expect(try await client.message()["result"]?["text"]?.string?.utf8.count == bytes)
            #expect(server.record.now.computations == computations)
        }
        try await server.stop()
    }

    @Test func `a message over the limit is refused with its id, and the connection lives on`() async throws {
        var settings = TestServer.settings
        settings.limits.frame.message = 100_000
        let server = try await TestServer(settings)
        let client = try server.client()
        let large = String(repeating: "y", count: 200_000)
        try await client.send(
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"test.echo\",\"params\":{\"a\":\"\(large)\"}}\n")
        let reply = try await client.message()
        #expect(reply["id"] == .integer(7))
        #expect(reply.errorCode == -32010)
        #expect(reply["error"]?["data"]?["limit"] == .integer(100_000))
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `errors of methods reach the client, bugs as internal errors`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.fail", "{\"code\":1600}")
        let failed = try await client.message()
        #expect(failed.errorCode == 1600)
        #expect(failed["error"]?["data"] == .object(["a": .integer(1)]))
        try await client.call(2, "test.fail", "{\"bug\":1}")
        let bug = try await client.message()
        #expect(bug.errorCode == -32603)
        #expect(bug["error"]?["data"]?["report"]?.string?.contains("Bug") == true)
        try await client.call(3, "test.ecoh")
        let unknown = try await client.message()
        #expect(unknown.errorCode == -32601)
        #expect(unknown["error"]?["data"]?["method"] == .string("test.ecoh"))
        #expect(unknown["error"]?["data"]?["near"]?.array?.contains(.string("test.echo")) == true)
        try await client.call(4, "$/unknown")
        #expect(try await client.message().errorCode == -32601)
        try await server.stop()
    }

    @Test func `a batch gets one reply, in its order`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.send(
            #"[{"jsonrpc":"2.0","id":1,"method":"test.gate"},5,{"jsonrpc":"2.0","method":"test.echo"},"#
                + #"{"jsonrpc":"2.0","id":2,"method":"no.such"},{"jsonrpc":"2.0","id":3,"method":"test.echo","params":{"x":1}}]"#
                + "\n")
        try await client.call(9, "test.echo")
        #expect(try await client.message()["id"] == .integer(9))
        server.record.openGate()
        let batch = try await client.message().array ?? []
        #expect(batch.map { $0["id"] } == [.integer(1), .null, .integer(2), .integer(3)])
        #expect(batch.map(\.errorCode) == [nil, -32600, -32601, nil])
        try await server.stop()
    }

    @Test func `a batch of a hundred counts as a hundred calls`() async throws {
        var settings = TestServer.settings
        settings.limits.calls.callsInFlight = 50
        let server = try await TestServer(settings)
        let client = try server.client()
        let items = (1...100).map {
            "{\"jsonrpc\":\"2.0\",\"id\":\($0),\"method\":\"test.gate\"}"
        }
        try await client.send("[\(items.joined(separator: ","))]\n")
        #expect(try await server.reaches { $0.waiting == 50 })
        server.record.openGate()
        let batch = try await client.message().array ?? []
        #expect(batch.count == 100)
        #expect(batch.count { $0.errorCode == -32011 } == 50)
        #expect(try await client.isAlive())
        try await server.stop()
    }

    @Test func `a reply longer than the client can read becomes an error`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.call(1, "test.terms", "{\"bytes\":1000}")
        _ = try await client.message()
        try await client.call(2, "test.blob", "{\"bytes\":500}")
        #expect(try await client.message()["result"] != nil)
        try await client.call(3, "test.blob", "{\"bytes\":2000}")
        let refused = try await client.message()
        #expect(refused.errorCode == 1411)
        #expect(refused["id"] == .integer(3))
        try await server.stop()
    }

    @Test func `HTTP gets a response that HTTP clients can read`() async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        let text = try await client.rest()
        #expect(text.hasPrefix("HTTP/1.1 501 Not Implemented\r\n"))
        #expect(text.contains("\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"))
        try await server.stop()
    }

    @Test(arguments: ["\u{16}\u{3}\u{1}", "Content-Length: -5\r\n\r\n", "X: y\r\n\r\n", "\"hello\"\n"])
    func `what cannot be understood gets one error, then the connection closes`(_ text: String) async throws {
        let server = try await TestServer()
        let client = try server.client()
        try await client.send(text)
        let response = try await client.rest()
        #expect(response.contains("\"id\":null,\"error\":{\"code\":-32700"))
        #expect(response.split(separator: "jsonrpc").count == 2)
        #expect(try await server.reaches { $0.closed == 1 })
        try await server.stop()
    }
}
