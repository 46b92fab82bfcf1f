// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Testing

/// gzip, deflate, br and zstd, whole and damaged.
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

    private static let brotli: [UInt8] = [15, 2, 128, 104, 101, 108, 108, 111, 3]
    private static let zstd: [UInt8] = [
        40, 181, 47, 253, 4, 88, 41, 0, 0, 104, 101, 108, 108, 111, 163, 109, 159, 136,
    ]
    private static let zstdAgain: [UInt8] = [40, 181, 47, 253, 0, 88, 49, 0, 0, 32, 97, 103, 97, 105, 110]
    /// A frame that says nothing, and is to be skipped.
    private static let skipped: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    /// An empty frame whose window has 2^(10 + n) bytes.
    private static func window(_ exponent: UInt8) -> [UInt8] { [40, 181, 47, 253, 0, exponent << 3, 1, 0, 0] }

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
        Sample(coding: "gzip", bytes: hello + Array("JUNK".utf8) + again, body: "hello"),
        Sample(coding: "gzip", bytes: [], body: ""),
        Sample(coding: "identity", bytes: Array("hello".utf8), body: "hello"),
        Sample(coding: "banana", bytes: Array("hello".utf8), body: "hello"),
        Sample(coding: "gzip", bytes: hello.dropLast(6), kind: .connectionLost),
        Sample(coding: "gzip", bytes: Array(hello.prefix(12)), kind: .connectionLost),
        Sample(coding: "gzip", bytes: hello.dropLast(8) + [0, 0, 0, 0, 5, 0, 0, 0], kind: .malformedResponse),
        Sample(coding: "gzip", bytes: Array("hello".utf8), kind: .malformedResponse),
        Sample(coding: "deflate", bytes: zlib.dropLast(3), kind: .connectionLost),
        Sample(coding: "br", bytes: brotli, body: "hello"),
        Sample(coding: "BR", bytes: [], body: ""),
        Sample(coding: "br", bytes: brotli + Array("JUNK".utf8), kind: .malformedResponse),
        Sample(coding: "br", bytes: brotli.dropLast(1), kind: .connectionLost),
        Sample(coding: "br", bytes: Array("hello, this is no brotli".utf8), kind: .malformedResponse),
        Sample(coding: "zstd", bytes: zstd, body: "hello"),
        Sample(coding: "zstd", bytes: zstd + skipped + zstdAgain + skipped, body: "hello again"),
        Sample(coding: "zstd", bytes: zstd + Array("JUNK".utf8), kind: .malformedResponse),
        Sample(coding: "zstd", bytes: zstd + [40, 181], kind: .connectionLost),
        // a format of the library before RFC 8878
        Sample(coding: "zstd", bytes: [0x25, 0xB5, 0x2F, 0xFD, 0x0B], kind: .malformedResponse),
        Sample(coding: "zstd", bytes: zstd.dropLast(2), kind: .connectionLost),
        Sample(coding: "zstd", bytes: zstd + zstd.dropLast(2), kind: .connectionLost),
        Sample(coding: "zstd", bytes: zstd.dropLast(4) + [0, 0, 0, 0], kind: .malformedResponse),
        Sample(coding: "zstd", bytes: window(13), body: ""),
        Sample(coding: "zstd", bytes: window(14), kind: .malformedResponse),
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
            let response = try await transport.wholeResponse(.local(server.port, path))
            #expect(response.text == body)
            #expect(response.timeline.bodyBytes == Int64(body.utf8.count))
        } else {
            let failure = await transport.failure(.local(server.port, path))
            #expect(failure?.kind == sample.kind, "\(failure?.message ?? "")")
        }
        await server.close()
    }

    @Test func `decoding is offered and done only if the caller wants it`() async throws {
        let server = try await server(Self.samples[0])
        let transport = makeTransport()
        _ = try await transport.wholeResponse(.local(server.port))
        var plain = Attempt.local(server.port)
        plain.decodesContent = false
        #expect(try await transport.wholeResponse(plain).body == ByteBuffer(bytes: Self.hello))
        var own = Attempt.local(server.port)
        own.fields = [.init("Accept-Encoding", "br")]
        _ = try await transport.wholeResponse(own)
        let heads = server.requests.map(\.head)
        #expect(heads[0].contains("\r\nAccept-Encoding: gzip, deflate, br, zstd"))
        #expect(!heads[1].contains("Accept-Encoding"))
        #expect(heads[2].contains("\r\nAccept-Encoding: br") && !heads[2].contains("gzip"))
        await server.close()
    }

    @Test(arguments: BodyCoding.allCases)
    func `what is compressed here is decoded here, in pieces of any size`(_ coding: BodyCoding) async throws {
        let text = (0..<20_000).map { "\($0) wolves" }.joined(separator: "\n")
        for size in [1, 1000, 70_000, 1 << 20] {
            let stream = coding.makeStream()
            var rest = Array(text.utf8.prefix(size == 1 ? 3000 : .max))[...]
            let plain = Array(rest)
            var coded = ByteBuffer()
            while !rest.isEmpty {
                coded.writeImmutableBuffer(try stream.compress(ByteBuffer(bytes: rest.prefix(size))))
                rest = rest.dropFirst(size)
            }
            coded.writeImmutableBuffer(try stream.finish())
            #expect(try stream.finish().readableBytes == 0)
            #expect(coded.readableBytes < plain.count)
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding.rawValue)\r\n"
            let bytes = coded
            let server = try await ScriptedServer { _ in
                [.send(head + "Content-Length: \(bytes.readableBytes)\r\n\r\n"), .bytes(bytes)]
            }
            #expect(try await makeTransport().wholeResponse(.local(server.port)).body == ByteBuffer(bytes: plain))
            await server.close()
        }
    }

    @Test(arguments: BodyCoding.allCases)
    func `a body that grows too much is refused while it grows`(_ coding: BodyCoding) async throws {
        let stream = coding.makeStream()
        var bomb = try stream.compress(ByteBuffer(repeating: 0, count: 60_000_000))
        bomb.writeImmutableBuffer(try stream.finish())
        let bytes = bomb
        let server = try await ScriptedServer { _ in
            [
                .send(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding.rawValue)\r\n"
                        + "Content-Length: \(bytes.readableBytes)\r\n\r\n"),
                .bytes(bytes),
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
