// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTPTransportTests {
    @Test func `a page is fetched from off the loop and from on it`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = makeTransport()
        let attempt = Attempt.local(server.port, "/a?b=c")
        let first = try await transport.wholeResponse(attempt)
        let second = try await onLoop { try await transport.wholeResponse(attempt) }
        #expect(first.status == 200 && first.text == "hello" && !first.timeline.reused)
        #expect(second.status == 200 && second.text == "hello" && second.timeline.reused)
        #expect(server.connections == 1)
        #expect(server.requests[0].line == "GET /a?b=c HTTP/1.1")
        #expect(server.requests[0].head.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(second.timeline.remote == "127.0.0.1:\(server.port)")
        await server.close()
    }

    @Test func `a port without a listener refuses`() async throws {
        let failure = await makeTransport().failure(.local(1))
        #expect(failure?.kind == .connectionRefused)
        #expect(failure?.message == "127.0.0.1:1 refused the connection")
        #expect(failure?.phase == .connect && failure?.sent == .notSent && failure?.retryable == true)
    }
}
