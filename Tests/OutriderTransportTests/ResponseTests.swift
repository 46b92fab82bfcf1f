// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Testing

/// Responses as servers really send them, good and bad.
@Suite(.timeLimit(.minutes(1)))
struct ResponseTests {
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

    struct Sample: Sendable, CustomTestStringConvertible {
        var name: String
        var steps: [ScriptedServer.Step]
        var method = "GET"
        var status = 200
        var body = "hello"
        var isReusable = true
        var testDescription: String { name }
    }

    static let good: [Sample] = [
        Sample(name: "a length", steps: [.ok("hello")]),
        Sample(name: "a length of zero", steps: [.ok("")], body: ""),
        Sample(
            name: "chunks with extensions, zeros and a trailer",
            steps: [
                .send(chunked + "5;ext=1;q=\"a;b\"\r\nhello\r\n0A\r\n0123456789\r\n00000\r\nTrailer-X: y\r\n\r\n")
            ], body: "hello0123456789"),
        Sample(
            name: "one byte at a time",
            steps: Array((chunked + "5\r\nhello\r\n0\r\n\r\n").map { .send(String($0)) })),
        Sample(name: "until the end", steps: [.send(ok + "\r\nhel"), .send("lo"), .close], isReusable: false),
        Sample(name: "HTTP/1.0", steps: [.send("HTTP/1.0 200 OK\r\n\r\nhello"), .close], isReusable: false),
        Sample(
            name: "204 with a length", steps: [.send("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")],
            status: 204, body: "", isReusable: false),
        Sample(
            name: "304 with a length", steps: [.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")],
            status: 304, body: "", isReusable: false),
        Sample(
            name: "HEAD", steps: [.send(ok + "Content-Length: 500\r\n\r\n")], method: "HEAD", body: ""),
        Sample(
            name: "interim responses",
            steps: [
                .send(
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                        + "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), .ok("hello"),
            ]),
        Sample(name: "no reason", steps: [.send("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")]),
        Sample(name: "an empty reason", steps: [.send("HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello")]),
        Sample(
            name: "a reason in Latin-1",
            steps: [
                .bytes(
                    ByteBuffer(
                        bytes: Array("HTTP/1.1 200 D".utf8) + [0xE9] + Array("\r\nContent-Length: 5\r\n\r\nhello".utf8))
                )
            ]),
        Sample(
            name: "one field of 60,000 bytes",
            steps: [.ok("hello", fields: "X: \(String(repeating: "a", count: 60_000))\r\n")]),
        Sample(
            name: "the end of the connection announced", steps: [.ok("hello", fields: "Connection: close\r\n")],
            isReusable: false),
        Sample(
            name: "more than the length", steps: [.send(ok + "Content-Length: 5\r\n\r\nhelloEXTRA")], isReusable: false),
        Sample(
            name: "two responses for one",
            steps: [.send(ok + "Content-Length: 5\r\n\r\nhello" + ok + "Content-Length: 3\r\n\r\nBAD")],
            isReusable: false),
        Sample(
            name: "half a response behind the response",
            steps: [.send(ok + "Content-Length: 5\r\n\r\nhello" + ok + "Conte")],
            isReusable: false),
        Sample(
            name: "half a response behind chunks", steps: [.send(chunked + "5\r\nhello\r\n0\r\n\r\n" + ok)],
            isReusable: false),
    ]

    @Test(arguments: good)
    func `a response is read to its end`(_ sample: Sample) async throws {
        let server = try await ScriptedServer { request in request.path == "/next" ? [.ok("next")] : sample.steps }
        let transport = makeTransport()
        let (response, next) = try await onLoop {
            let response = try await transport.wholeResponse(.local(server.port, method: sample.method))
            return (response, try await transport.wholeResponse(.local(server.port, "/next")))
        }
        #expect(response.status == sample.status && response.text == sample.body)
        #expect(next.text == "next" && next.timeline.reused == sample.isReusable)
        await server.close()
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        var name: String
        var kind: HTTPFailure.Kind
        var steps: [ScriptedServer.Step]
        var words = ""
        var testDescription: String { name }
    }

    static let bad: [Fault] = [
        Fault(
            name: "fewer than the length", kind: .connectionLost,
            steps: [.send(ok + "Content-Length: 100\r\n\r\n" + String(repeating: "x", count: 50)), .close],
            words: "got 50 of 100 bytes"),
        Fault(
            name: "no last chunk", kind: .connectionLost, steps: [.send(chunked + "5\r\nhello\r\n"), .close],
            words: "got 5 bytes"),
        Fault(name: "a cut chunk", kind: .connectionLost, steps: [.send(chunked + "A\r\nhello"), .close]),
        Fault(
            name: "no empty line at the end", kind: .connectionLost,
            steps: [.send(chunked + "5\r\nhello\r\n0\r\n"), .close]),
        Fault(
            name: "a chunk size of letters", kind: .malformedResponse,
            steps: [.send(chunked + "xyz\r\nhello\r\n0\r\n\r\n")]),
        Fault(name: "no chunk size", kind: .malformedResponse, steps: [.send(chunked + "\r\nhello\r\n0\r\n\r\n")]),
        Fault(
            name: "a huge chunk size", kind: .malformedResponse,
            steps: [.send(chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n")]),
        Fault(
            name: "a negative chunk size", kind: .malformedResponse,
            steps: [.send(chunked + "-5\r\nhello\r\n0\r\n\r\n")]),
        Fault(
            name: "a chunk longer than its size", kind: .malformedResponse,
            steps: [.send(chunked + "5\r\nhelloXX\r\n0\r\n\r\n")]),
        Fault(
            name: "a length and chunks", kind: .malformedResponse,
            steps: [.send(ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")]),
        Fault(
            name: "two lengths", kind: .malformedResponse,
            steps: [.send(ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")]),
        Fault(
            name: "a list of lengths", kind: .malformedResponse,
            steps: [.send(ok + "Content-Length: 5, 6\r\n\r\nhello!")]),
        Fault(
            name: "a negative length", kind: .malformedResponse, steps: [.send(ok + "Content-Length: -5\r\n\r\nhello")]),
        Fault(
            name: "a length beyond all numbers", kind: .malformedResponse,
            steps: [.send(ok + "Content-Length: 99999999999999999999999\r\n\r\nhello")]),
        Fault(name: "letters for a status", kind: .malformedResponse, steps: [.send("HTTP/1.1 abc Odd\r\n\r\n")]),
        Fault(name: "another protocol", kind: .malformedResponse, steps: [.send("SSH-2.0-OpenSSH_9.2\r\n")]),
        Fault(
            name: "HTTP/2 in the status line", kind: .malformedResponse,
            steps: [.send("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n")]),
        Fault(name: "NUL in a value", kind: .malformedResponse, steps: [.ok("hello", fields: "X-N: a\0b\r\n")]),
        Fault(
            name: "an unasked 101", kind: .malformedResponse,
            steps: [.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nxx")]),
        Fault(
            name: "no response", kind: .connectionLost, steps: [.close],
            words: "closed the connection without an answer"),
        Fault(name: "a reset for a response", kind: .connectionLost, steps: [.reset], words: "without an answer"),
        Fault(
            name: "a reset in the head", kind: .connectionLost, steps: [.send(ok + "Content-Le"), .pause(0.05), .reset]),
        Fault(name: "the end in the head", kind: .connectionLost, steps: [.send(ok + "Content-Le"), .close]),
        Fault(
            name: "a reset in the body", kind: .connectionLost,
            steps: [.send(ok + "Content-Length: 100\r\n\r\nxxxxxxxxxx"), .pause(0.05), .reset],
            words: "got 10 of 100 bytes"),
        Fault(
            name: "a reset in a body that ends with the connection", kind: .connectionLost,
            steps: [.send(ok + "\r\nxxxxxxxxxx"), .pause(0.05), .reset]),
        Fault(
            name: "1xx without end", kind: .limitExceeded,
            steps: [
                .flood(ByteBuffer(string: String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100)), times: 1_000)
            ],
            words: "more than 20 informational responses"),
        Fault(
            name: "fields without end", kind: .limitExceeded,
            steps: [
                .send(ok),
                .flood(ByteBuffer(string: "X-Field: \(String(repeating: "a", count: 900))\r\n"), times: 100_000),
            ]),
        Fault(
            name: "many small fields", kind: .limitExceeded,
            steps: [.send(ok), .flood(ByteBuffer(string: String(repeating: "X: a\r\n", count: 100)), times: 1_000)]),
        Fault(
            name: "one field without end", kind: .limitExceeded,
            steps: [.send(ok + "X: "), .flood(ByteBuffer(repeating: 0x61, count: 1 << 16), times: 1_000)]),
        Fault(
            name: "trailers without end", kind: .limitExceeded,
            steps: [
                .send(chunked + "0\r\n"),
                .flood(ByteBuffer(string: "A: \(String(repeating: "a", count: 60_000))\r\n"), times: 1_000),
            ]),
    ]

    @Test(arguments: bad)
    func `a broken response is a failure, and the next request works`(_ fault: Fault) async throws {
        let server = try await ScriptedServer { request in request.path == "/next" ? [.ok("next")] : fault.steps }
        let transport = makeTransport()
        let failure = await transport.failure(.local(server.port))
        #expect(failure?.kind == fault.kind, "\(failure?.message ?? "")")
        #expect(failure?.message.contains(fault.words) ?? false || fault.words.isEmpty, "\(failure?.message ?? "")")
        #expect(
            failure?.message.contains("127.0.0.1") == true || failure?.kind == .malformedResponse
                || failure?.kind == .limitExceeded)
        #expect(try await transport.wholeResponse(.local(server.port, "/next")).text == "next")
        let counts = await transport.counts()
        #expect(counts.busy == 0 && counts.idle == 1)
        await server.close()
    }

    @Test func `interim responses and trailers are told`() async throws {
        let observer = RecordingObserver()
        let server = try await ScriptedServer { _ in
            [
                .send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
                .send(Self.chunked + "2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n"),
            ]
        }
        let response = try await makeTransport().wholeResponse(.local(server.port), observer: observer)
        #expect(observer.heard.informational == [102, 103])
        #expect(observer.heard.sending == 1)
        #expect(response.trailers == [.init("X-Sum", "1")])
        await server.close()
    }

    @Test func `white space around a value is no part of it`() async throws {
        let server = try await ScriptedServer { _ in
            [.send(Self.ok + "A: \t b c \t\r\nTransfer-Encoding: chunked \r\n\r\n0\r\nX-Sum:1 \r\n\r\n")]
        }
        let response = try await makeTransport().wholeResponse(.local(server.port))
        #expect(response.fields == [.init("A", "b c"), .init("Transfer-Encoding", "chunked")])
        #expect(response.trailers == [.init("X-Sum", "1")])
        await server.close()
    }

    @Test func `a body longer than allowed is refused`() async throws {
        let server = try await ScriptedServer { request in
            request.path == "/told"
                ? [.ok(String(repeating: "x", count: 200))]
                : [.send(Self.chunked), .flood(ByteBuffer(string: "10\r\n0123456789abcdef\r\n"), times: 100_000)]
        }
        let transport = makeTransport()
        for path in ["/told", "/untold"] {
            var attempt = Attempt.local(server.port, path)
            attempt.maximumBodyBytes = 100
            let failure = await transport.failure(attempt)
            #expect(failure?.kind == .limitExceeded && failure?.message.contains("100 bytes") == true)
        }
        var fits = Attempt.local(server.port, "/told")
        fits.maximumBodyBytes = 200
        #expect(try await transport.wholeResponse(fits).body.readableBytes == 200)
        await server.close()
    }
}
