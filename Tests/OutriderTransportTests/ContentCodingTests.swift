// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Testing

/// gzip and deflate, whole and damaged.
@Suite(.timeLimit(.minutes(1)))
struct ContentCodingTests {
    private static let hello: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
    ]
    private static let again: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 83, 72, 76, 79, 204, 204, 3, 0, 116, 8, 237, 227, 6, 0, 0, 0,
    ]
    private static let twice: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 147, 239, 230, 96, 0, 1, 38, 230, 211, 30, 103, 79, 158, 100, 103, 104, 91, 38,
        96, 198, 10, 20, 0, 0, 167, 111, 180, 69, 25, 0, 0, 0,
    ]
    private static let zlib: [UInt8] = [120, 156, 203, 72, 205, 201, 201, 7, 0, 6, 44, 2, 21]
    private static let raw: [UInt8] = [203, 72, 205, 201, 201, 7, 0]

    struct Sample: Sendable, CustomTestStringConvertible {
        var coding: String
        var bytes: [UInt8]
        var body: String?
        var kind: HTTPFailure.Kind?
        var testDescription: String { "\(coding) of \(bytes.count) bytes" }
    }

    static let samples: [Sample] = [
        Sample(coding: "gzip", bytes: hello, body: "hello"),
        Sample(coding: "x-gzip", bytes: hello, body: "hello"),
        Sample(coding: "GZIP", bytes: hello, body: "hello"),
        Sample(coding: "deflate", bytes: zlib, body: "hello"),
        Sample(coding: "deflate", bytes: raw, body: "hello"),
        Sample(coding: "gzip, gzip", bytes: twice, body: "hello"),
        Sample(coding: "gzip", bytes: hello + again, body: "hello again"),
        Sample(coding: "gzip", bytes: hello + Array("JUNK".utf8), body: "hello"),
        Sample(coding: "gzip", bytes: [], body: ""),
        Sample(coding: "identity", bytes: Array("hello".utf8), body: "hello"),
        Sample(coding: "banana", bytes: Array("hello".utf8), body: "hello"),
        Sample(coding: "gzip", bytes: hello.dropLast(6), kind: .connectionLost),
        Sample(coding: "gzip", bytes: Array(hello.prefix(12)), kind: .connectionLost),
        Sample(coding: "gzip", bytes: hello.dropLast(8) + [0, 0, 0, 0, 5, 0, 0, 0], kind: .malformedResponse),
        Sample(coding: "gzip", bytes: Array("hello".utf8), kind: .malformedResponse),
        Sample(coding: "deflate", bytes: zlib.dropLast(3), kind: .connectionLost),
    ]

    /// The same bytes in one piece, and one at a time.
    private func server(_ sample: Sample) async throws -> ScriptedServer {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(sample.coding)\r\n"
        return try await ScriptedServer { request in
            guard request.path == "/pieces" else {
                return [
                    .send(head + "Content-Length: \(sample.bytes.count)\r\n\r\n"),
                    .bytes(ByteBuffer(bytes: sample.bytes)),
                ]
            }
            let pieces = sample.bytes.map { byte in
                ScriptedServer.Step.bytes(ByteBuffer(bytes: Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)))
            }
            return [.send(head + "Transfer-Encoding: chunked\r\n\r\n")] + pieces + [.send("0\r\n\r\n")]
        }
    }

    @Test(arguments: samples, ["/", "/pieces"])
    func `a coded body is decoded or refused`(_ sample: Sample, path: String) async throws {
        let server = try await server(sample)
        let transport = makeTransport()
        if let body = sample.body {
            let answer = try await transport.answer(.local(server.port, path))
            #expect(answer.text == body)
            #expect(answer.timeline.bodyBytes == Int64(body.utf8.count))
        } else {
            let failure = await transport.failure(.local(server.port, path))
            #expect(failure?.kind == sample.kind, "\(failure?.message ?? "")")
        }
        await server.close()
    }

    @Test func `decoding is offered and done only if the caller wants it`() async throws {
        let server = try await server(Self.samples[0])
        let transport = makeTransport()
        _ = try await transport.answer(.local(server.port))
        var plain = Attempt.local(server.port)
        plain.decodesContent = false
        #expect(try await transport.answer(plain).body == ByteBuffer(bytes: Self.hello))
        var own = Attempt.local(server.port)
        own.fields = [.init("Accept-Encoding", "br")]
        _ = try await transport.answer(own)
        let heads = server.requests.map(\.head)
        #expect(heads[0].contains("\r\nAccept-Encoding: gzip, deflate"))
        #expect(!heads[1].contains("Accept-Encoding"))
        #expect(heads[2].contains("\r\nAccept-Encoding: br") && !heads[2].contains("gzip"))
        await server.close()
    }

    @Test func `a body that grows too much is refused while it grows`() async throws {
        let file = try TestCertificates.path("bomb.gz")
        #expect(run("/bin/sh", ["-c", "head -c 60000000 /dev/zero | gzip -9 >\(file)"]) == 0)
        let bomb = try contents(of: file)
        let server = try await ScriptedServer { _ in
            [
                .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.readableBytes)\r\n\r\n"),
                .bytes(bomb),
            ]
        }
        let transport = makeTransport()
        let failure = await transport.failure(.local(server.port))
        #expect(failure?.kind == .limitExceeded && failure?.message.contains("200 times") == true)
        var small = Attempt.local(server.port)
        small.maximumBodyBytes = 1 << 20
        #expect(await transport.failure(small)?.message.contains("longer than the 1048576 bytes") == true)
        await server.close()
    }
}
