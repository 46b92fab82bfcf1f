// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Synchronization
import Testing

/// Bodies of requests: from memory and from files, refused early, changed meanwhile.
@Suite(.timeLimit(.minutes(1)))
struct UploadTests {
    /// A file of so many bytes, counting from 0 to 250 and again.
    private func makeFile(_ bytes: Int) throws -> String {
        let path = try TestCertificates.path("upload-\(bytes)-\(UInt32.random(in: 0 ... .max))")
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        let block = pattern(251_000)
        var left = bytes
        while left > 0 {
            let written = write(descriptor, block, min(left, block.count))
            try #require(written > 0)
            left -= written
        }
        close(descriptor)
        return path
    }

    private func pattern(_ bytes: Int) -> [UInt8] {
        let once = (0..<251).map { UInt8($0) }
        return Array(Array(repeating: once, count: bytes / 251 + 1).joined().prefix(bytes))
    }

    @Test(arguments: [0, 1, 5_000, 65_536, 65_537, 1_000_000])
    func `a body from memory arrives whole, and is counted`(size: Int) async throws {
        let server = try await ScriptedServer { request in [.ok("\(request.body.readableBytes)")] }
        let observer = RecordingObserver()
        let body = pattern(size)
        let transport = makeTransport()
        let response = try await transport.wholeResponse(
            .local(server.port, method: "POST", body: .bytes(body)), observer: observer)
        #expect(response.text == "\(size)")
        #expect(server.requests[0].body == ByteBuffer(bytes: pattern(size)))
        #expect(server.requests[0].head.contains("\r\nContent-Length: \(size)"))
        #expect(observer.heard.bodySent.last == Int64(size))
        #expect(observer.heard.bodySent == observer.heard.bodySent.sorted())
        #expect(response.timeline.bytesSent > Int64(size))
        #expect(await transport.counts().idle == 1)
        await server.close()
    }

    @Test(arguments: [0, 1, 131_072, 3_000_000])
    func `a body from a file arrives whole`(size: Int) async throws {
        let server = try await ScriptedServer { request in [.ok("\(request.body.readableBytes)")] }
        let path = try makeFile(size)
        let transport = makeTransport()
        let observer = RecordingObserver()
        let attempt = Attempt.local(server.port, method: "PUT", body: .file(path: path, size: Int64(size)))
        let response = try await onLoop { try await transport.wholeResponse(attempt, observer: observer) }
        #expect(response.text == "\(size)")
        #expect(server.requests[0].body == ByteBuffer(bytes: pattern(size)))
        if size > 0 { #expect(observer.heard.bodySent.last == Int64(size)) }
        #expect(await transport.counts().idle == 1)
        await server.close()
    }

    @Test func `a file that is not there, no file, or of another size is refused`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let path = try makeFile(1_000)
        let directory = try TestCertificates.path("")
        let transport = makeTransport()
        let bodies: [(AttemptBody, String)] = [
            (.file(path: path + "-gone", size: 1), "No such file"),
            (.file(path: directory, size: 4096), "not a regular file"),
            (.file(path: path, size: 2_000), "changed"),
            (.file(path: path, size: 500), "changed"),
        ]
        for (body, words) in bodies {
            let failure = await transport.failure(.local(server.port, method: "POST", body: body))
            #expect(failure?.kind == .bodyUnreadable && failure?.phase == .request)
            #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
        }
        #expect(await transport.counts().busy == 0)
        await server.close()
    }

    /// Bytes, a file and a feed, one after the other.
    private func composed(_ path: String, _ fed: [[UInt8]], length: Int64?, _ coding: BodyCoding? = nil) -> AttemptBody
    {
        let pieces: [ComposedBody.Piece] = [
            .bytes([1, 2, 3]), .file(path: path, size: 200_000, pointer: "/file"),
            .feed(ScriptedFeed(fed), length: length, pointer: "/stream"), .bytes([4, 5]),
        ]
        return .composed(ComposedBody(pieces, coding: coding))
    }

    @Test func `a body of several pieces arrives in order, with its length`() async throws {
        let server = try await ScriptedServer { request in [.ok("\(request.body.readableBytes)")] }
        let path = try makeFile(200_000)
        let transport = makeTransport()
        let fed = [[UInt8](repeating: 8, count: 1), [UInt8](repeating: 9, count: 300_000)]
        let body = composed(path, fed, length: 300_001)
        #expect(body.size == 500_006)
        let observer = RecordingObserver()
        let response = try await transport.wholeResponse(
            .local(server.port, method: "POST", body: body), observer: observer)
        #expect(response.text == "500006" && observer.heard.bodySent.last == 500_006)
        let expected = [1, 2, 3] + pattern(200_000) + fed.joined() + [4, 5]
        #expect(server.requests[0].body == ByteBuffer(bytes: expected))
        #expect(!body.isReplayable)
        #expect(await transport.counts().idle == 1)
        await server.close()
        unlink(path)
    }

    @Test(arguments: [nil, BodyCoding.gzip])
    func `a body of unknown length is sent in chunks`(coding: BodyCoding?) async throws {
        let server = try await ScriptedServer(readsBodies: false) { request in
            request.number > 0 ? [] : [.pause(0.2), .ok("hello", fields: "Connection: close\r\n")]
        }
        let path = try makeFile(200_000)
        let body = composed(path, [[7]], length: nil, coding)
        #expect(body.size == nil)
        let response = try await makeTransport().wholeResponse(.local(server.port, method: "POST", body: body))
        #expect(response.text == "hello")
        #expect(server.requests[0].head.contains("\r\nTransfer-Encoding: chunked"))
        #expect(!server.requests[0].head.contains("Content-Length"))
        await server.close()
        unlink(path)
    }

    @Test func `a feed that fails, or gives too little, fails the attempt`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let path = try makeFile(200_000)
        for (fed, length) in [([[7]], Int64(2)), ([[7, 7, 7]], 2), ([], 1)] as [([[UInt8]], Int64)] {
            let failure = await makeTransport().failure(
                .local(server.port, method: "POST", body: composed(path, fed, length: length)))
            #expect(failure?.kind == .inputStreamReadFailed && failure?.pointer == "/stream")
        }
        await server.close()
        unlink(path)
    }

    @Test func `one zero byte is deflated as zlib does it on level 5`() throws {
        let stream = BodyCoding.deflate.makeStream()
        var output = try stream.compress(ByteBuffer(bytes: [0]))
        output.writeImmutableBuffer(try stream.finish())
        #expect(Array(output.readableBytesView) == [0x78, 0x5E, 0x63, 0, 0, 0, 1, 0, 1])
        #expect(try stream.finish().readableBytes == 0)
    }

    @Test func `an early refusal stops the upload and is delivered`() async throws {
        let server = try await ScriptedServer(readsBodies: false) { request in
            request.number > 0
                ? [] : [.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")]
        }
        let path = try makeFile(50_000_000)
        let transport = makeTransport()
        let observer = RecordingObserver()
        let attempt = Attempt.local(server.port, method: "POST", body: .file(path: path, size: 50_000_000))
        let response = try await transport.wholeResponse(attempt, observer: observer)
        #expect(response.status == 413 && response.text == "no")
        #expect(observer.heard.bodySent.last ?? 0 < 50_000_000)
        #expect(await transport.counts() == PoolMachine.Counts())
        unlink(path)
        await server.close()
    }

    @Test func `a server that goes away in the middle of an upload is noticed`() async throws {
        let server = try await ScriptedServer(readsBodies: false) { _ in [.reset] }
        let body = AttemptBody.bytes([UInt8](repeating: 7, count: 30_000_000))
        let failure = await makeTransport().failure(.local(server.port, method: "POST", body: body))
        #expect(failure?.kind == .connectionLost && failure?.sent == .maybeSent)
        await server.close()
    }

    @Test func `a method that expects a body says that there is none`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = makeTransport()
        for method in ["POST", "GET"] { _ = try await transport.wholeResponse(.local(server.port, method: method)) }
        #expect(server.requests[0].head.contains("\r\nContent-Length: 0"))
        #expect(!server.requests[1].head.contains("Content-Length"))
        await server.close()
    }

    @Test func `nothing that ends a line gets onto the wire`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        let transport = makeTransport()
        var field = Attempt.local(server.port)
        field.fields = [.init("X", "a\r\nInjected: b")]
        var name = Attempt.local(server.port)
        name.fields = [.init("X: y\r\nInjected", "b")]
        let target = Attempt.local(server.port, "/ HTTP/1.1\r\nInjected: b\r\n\r\n")
        let method = Attempt.local(server.port, method: "GET / HTTP/1.1\r\nInjected: b\r\n\r\nGET")
        for attempt in [field, name, target, method] {
            let failure = await transport.failure(attempt)
            #expect(failure?.kind == .createURLRequestFailed && failure?.sent == .notSent)
        }
        #expect(server.requests.isEmpty)
        await server.close()
    }

    @Test func `fields of the connection are the transport's alone`() async throws {
        let server = try await ScriptedServer { _ in [.ok("hello")] }
        var attempt = Attempt.local(server.port, method: "POST", body: .bytes([1, 2, 3]))
        attempt.fields = [
            .init("Content-Length", "99"), .init("Transfer-Encoding", "chunked"), .init("Connection", "keep-alive"),
            .init("X-Mine", "1"),
        ]
        _ = try await makeTransport().wholeResponse(attempt)
        let head = server.requests[0].head
        #expect(head.contains("\r\nContent-Length: 3") && head.contains("\r\nX-Mine: 1"))
        #expect(!head.contains(": 99") && !head.contains("chunked") && !head.contains("keep-alive"))
        await server.close()
    }
}

/// Gives some pieces, then ends; each from another thread.
private final class ScriptedFeed: BodyFeed {
    private struct State {
        var pieces: [[UInt8]]
        var isTaken = false
    }

    private let state: Mutex<State>

    init(_ pieces: [[UInt8]]) { state = Mutex(State(pieces: pieces)) }

    var isFresh: Bool { state.withLock { !$0.isTaken } }

    func take() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void) {
        let piece = state.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }
        Task.detached { hand(piece.map { .bytes($0) } ?? .end) }
    }

    func drop() {}
}
