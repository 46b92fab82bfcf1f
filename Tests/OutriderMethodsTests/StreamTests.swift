// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct StreamTests {
    private let peer = ScriptedPeer()
    private let scope = ClientScope.scripted()

    private func call(_ method: String, _ params: JSONObject) async throws -> JSONObject {
        try #require(try await Call.run(method, .object(params), peer: peer, scope: scope).object)
    }

    private func open(_ params: JSONObject) async throws -> JSONValue {
        try #require(try await call("diagnostics.stream", params)["stream"])
    }

    private func code(_ method: String, _ params: JSONObject) async -> Int? {
        let error = await #expect(throws: RPCError.self) { _ = try await call(method, params) }
        return error?.code
    }

    @Test func `a push stream sends its bytes, then its end, then is gone [W5]`() async throws {
        let stream = try await open(["bytes": .integer(3), "mode": .string("push"), "credit": .integer(10)])
        let events = await peer.events(2).map { "\($0.name) \(String(decoding: $0.params.bytes, as: UTF8.self))" }
        let name = stream.string ?? ""
        #expect(
            events == [
                #"event.data {"stream":"\#(name)","seq":0,"offset":0,"base64":"YWJj"}"#,
                #"event.end {"stream":"\#(name)","seq":1,"size":3}"#,
            ])
        #expect(await code("stream.credit", ["stream": stream, "bytes": .integer(1)]) == -32012)
    }

    @Test func `what there is credit for still goes out when the time is over, and nothing else`() {
        var machine = StreamMachine(.push(credit: 2))
        machine.feed(Array("abcdef".utf8))
        machine.sourceEnded(HTTPFailure(.timedOut, "too long", phase: .total))
        let sent = if case .send(let piece) = machine.step() { piece.bytes } else { 0 }
        #expect(sent == 2)
        let size = if case .end(_, let size) = machine.step() { size } else { 0 }
        #expect(size == 2)
        #expect(machine.failure?.kind == .timedOut)
    }

    @Test func `credit lets it go on`() async throws {
        let stream = try await open(["bytes": .integer(3), "mode": .string("push"), "credit": .integer(1)])
        _ = await peer.events(1)
        _ = try await call("stream.credit", ["stream": stream, "bytes": .integer(2)])
        #expect(await peer.events(3).map(\.name) == ["event.data", "event.data", "event.end"])
    }

    @Test func `a pull stream is read to its end, and then is gone`() async throws {
        let stream = try await open(["bytes": .integer(100_000)])
        var bytes: [UInt8] = []
        var number: Int64 = 0
        while true {
            let piece = try await call("stream.read", ["stream": stream, "bytes": .integer(30_000)])
            #expect(piece["seq"] == .integer(number))
            #expect(piece["offset"] == .integer(Int64(bytes.count)))
            bytes += try #require(Base64.decode(piece["base64"]?.string ?? ""))
            number += 1
            if piece["end"] == .bool(true) { break }
        }
        #expect(bytes == (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 26) })
        #expect(await code("stream.read", ["stream": stream]) == -32012)
    }

    @Test func `an empty stream ends with its first read`() async throws {
        let stream = try await open(["bytes": .integer(0)])
        #expect(try await call("stream.read", ["stream": stream])["end"] == .bool(true))
    }

    @Test func `credit is not for pull streams, and reading not for push streams`() async throws {
        let pull = try await open(["bytes": .integer(3)])
        #expect(await code("stream.credit", ["stream": pull, "bytes": .integer(1)]) == -32013)
        let push = try await open(["bytes": .integer(3), "mode": .string("push")])
        #expect(await code("stream.read", ["stream": push]) == -32013)
    }

    @Test func `nothing follows the closing of a stream`() async throws {
        let stream = try await open(["bytes": .integer(1_000_000), "mode": .string("push"), "credit": .integer(40_000)])
        _ = try await call("stream.close", ["stream": stream])
        let count = peer.events.count
        #expect(await code("stream.credit", ["stream": stream, "bytes": .integer(1)]) == -32012)
        #expect(peer.events.count == count)
    }

    /// A pull stream that nothing comes in for.
    private func silent() throws -> ReadStream {
        let hub = StreamFanout(peer)
        hub.release()
        let call = Call(id: .integer(1), scope: scope, peer: peer, later: AfterReplyQueue())
        return try hub.open(ByteItems(), as: .bytes, .pull, in: call)
    }

    @Test func `a read ends when the stream is closed meanwhile`() async throws {
        let stream = try silent()
        async let read = self.code("stream.read", ["stream": .string(stream.handle.name)])
        while !stream.isAwaited { await Task.yield() }
        _ = try await self.call("stream.close", ["stream": .string(stream.handle.name)])
        #expect(await read == -32013)
    }

    @Test func `a read whose time is over returns nothing and loses nothing`() async throws {
        let stream = try silent()
        let piece = try await call("stream.read", ["stream": .string(stream.handle.name), "wait": .integer(0)])
        #expect(piece["base64"] == .string(""))
        #expect(piece["end"] == .bool(false))
        scope.close()
    }

    @Test func `a cancelled read has no more bytes read ahead`() async throws {
        let stream = try silent()
        let read = Task {
            _ = try await stream.read(.init(bytes: 1 << 20, items: .max, least: 1 << 20), wait: .seconds(600))
        }
        while !stream.isAwaited { await Task.yield() }
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        stream.feed([UInt8](repeating: 0, count: 2 * StreamMachine.readAhead))
        #expect(await stream.deliver(to: peer) == .full)
        scope.close()
    }
}
