// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON
import Testing

@testable import OutriderServer

struct StdioTests {
    @Test func `the end of the input lets calls finish, and ends the service well`() async throws {
        let stdio = try await StdioServer()
        try await stdio.client.call(1, "test.gate", "{\"n\":1}")
        try await stdio.client.send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"test.info\"}")
        stdio.client.endInput()
        let info = try await stdio.client.message()
        #expect(info["result"]?["transport"] == .string("stdio"))
        stdio.server.record.openGate()
        #expect(try await stdio.client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}")
        #expect(try await stdio.server.status() == 0)
    }

    @Test func `a reader that goes away ends everything at once`() async throws {
        let stdio = try await StdioServer()
        try await stdio.client.call(1, "test.sleep", "{\"seconds\":60}")
        try await stdio.client.call(2, "test.echo")
        _ = try await stdio.client.message()
        stdio.client.close()
        _ = try await stdio.server.status()
        #expect(try await stdio.server.reaches { $0.cancelled == 1 && $0.closed == 1 })
    }

    @Test(arguments: [true, false])
    func `exit ends the service, well only after shutdown`(_ shutDown: Bool) async throws {
        let stdio = try await StdioServer()
        if shutDown {
            try await stdio.client.call(1, "shutdown")
            #expect(try await stdio.client.message()["result"] == .object([:]))
            try await stdio.client.call(2, "test.echo")
            #expect(try await stdio.client.message().errorCode == -32600)
        }
        try await stdio.client.send("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}\n")
        try await stdio.client.send("{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n")
        #expect(try await stdio.server.status() == (shutDown ? 0 : 1))
    }

    @Test func `files serve as input and output`() async throws {
        let directory = try TemporaryDirectory()
        let calls = (1...500).map {
            "{\"jsonrpc\":\"2.0\",\"id\":\($0),\"method\":\"test.blob\",\"params\":{\"bytes\":3000}}\n"
        }
        let writing = open("\(directory.path)/in", O_WRONLY | O_CREAT, 0o600)
        let text = calls.joined()
        #expect(write(writing, text, text.utf8.count) == text.utf8.count)
        close(writing)
        let input = open("\(directory.path)/in", O_RDONLY)
        let output = open("\(directory.path)/out", O_WRONLY | O_CREAT, 0o600)
        let server = try await TestServer(in: directory, on: [.descriptors(input: input, output: output)])
        #expect(try await server.status() == 0)
        close(output)
        close(input)
        let result = TestClient(input: open("\(directory.path)/out", O_RDONLY), output: -1)
        let lines = try await result.rest().split(separator: "\n")
        #expect(lines.count == 500)
        #expect(lines.allSatisfy { $0.utf8.count > 3000 })
    }

    @Test func `nothing in and nothing out is served, too`() async throws {
        let null = open("/dev/null", O_RDWR)
        let server = try await TestServer(on: [.descriptors(input: null, output: null)])
        #expect(try await server.status() == 0)
        close(null)
    }

    @Test func `a socket pair is a socket: half-closed, it is kept waiting`() async throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let server = try await TestServer(on: [.descriptors(input: ends[0], output: ends[0])])
        let client = TestClient(input: ends[1], output: ends[1], isSocket: true)
        try await client.call(1, "test.gate")
        client.endInput()
        #expect(try await client.next() == " ")
        server.record.openGate()
        #expect(try await client.line() != nil)
        #expect(try await server.status() == 0)
        close(ends[0])
    }

    @Test func `a slow reader gets everything`() async throws {
        let stdio = try await StdioServer()
        var text = ""
        for id in 1...40 {
            text += "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"test.blob\",\"params\":{\"bytes\":500000}}\n"
        }
        try await stdio.client.send(text)
        stdio.client.endInput()
        for _ in 1...40 {
            let reply = try await stdio.client.line()
            #expect(reply?.utf8.count ?? 0 > 500_000)
        }
        #expect(try await stdio.server.status() == 0)
    }
}
