// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Requests and responses of one connection.
struct HTTP2MachineTests {
    @Test func `the first bytes are preface, settings and a window`() throws {
        var machine = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0)
        let capacity = machine.capacity
        #expect(capacity == 100)
        let attempt = Attempt(method: "GET", url: HTTP2Bench.url, fields: [])
        let id = try machine.begin(HTTP2Request(attempt, hasBody: false), now: 0)
        #expect(id == HTTP2StreamID(number: 1, slot: 0))
        let bytes = machine.takeOutput { Array($0) }
        #expect(bytes.starts(with: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)))
        // SETTINGS of four entries, WINDOW_UPDATE of the connection, HEADERS with END_STREAM and END_HEADERS
        #expect(Array(bytes[24..<33]) == [0, 0, 24, 4, 0, 0, 0, 0, 0])
        #expect(Array(bytes[57..<70]) == [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0xFF, 0, 1])
        #expect(Array(bytes[73..<79]) == [1, 5, 0, 0, 0, 1])
    }

    @Test func `a response is handed over as it comes, however it is cut`() {
        for cut in [1, 2, 7, 10, 1000] {
            let bench = HTTP2Bench()
            bench.begin()
            bench.head(1, [(":status", "103"), ("link", "</a>")])
            bench.head(1, [(":status", "200"), ("content-length", "5"), ("x-a", "b")])
            bench.data(1, Array("hel".utf8))
            bench.raw(.data, 8 | 0, 1, [2, 108, 111, 0, 0])
            bench.head(1, [("x-sum", "c")], end: true)
            bench.flow(cut: cut)
            #expect(bench.bodies[1] == Array("hello".utf8))
            let id = HTTP2StreamID(number: 1, slot: 0)
            let events = bench.took().filter { if case .body = $0 { false } else { true } }
            #expect(
                events == [
                    .informational(id, ResponseHead(status: 103, version: .http2, fields: [.init("link", "</a>")])),
                    .response(
                        id,
                        ResponseHead(
                            status: 200, version: .http2, fields: [.init("content-length", "5"), .init("x-a", "b")]),
                        .length(5), stopSending: false),
                    .ended(id, trailers: [.init("x-sum", "c")]),
                ])
            #expect(bench.openStreams == 0)
        }
    }

    @Test func `fields of the connection are left out, names are written in lower case`() throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var output = WireBytes()
        let fields: HTTPFields = [
            .init("Connection", "close"), .init("X-First", " a "), .init("TE", "gzip"), .init("Upgrade", "x"),
            .init("te", "trailers"), .init("Keep-Alive", "1"), .init("Content-Length", "9"),
            .init("Transfer-Encoding", "chunked"), .init("Proxy-Connection", "x"), .init("Range", "bytes=0-1"),
        ]
        let attempt = Attempt(method: "PUT", url: HTTP2Bench.url, fields: fields, body: .bytes([1, 2]))
        let request = HTTP2Request(attempt, hasBody: true, expectsContinue: true, priority: .high)
        HTTP2RequestFields.writePseudo(attempt, &encoder, &output)
        HTTP2RequestFields.writeFields(request, &encoder, &output)
        var block = HTTP2FieldBlock(keeps: true)
        #expect(decoder.decode(output.bytes, into: &block) == nil)
        #expect(
            block.fields == [
                .init("x-first", "a"), .init("te", "trailers"), .init("range", "bytes=0-1"),
                .init("expect", "100-continue"), .init("content-length", "2"), .init("priority", "u=1"),
            ])
    }

    @Test(arguments: [
        Attempt(method: "GET", url: HTTP2Bench.url, fields: [.init("X-A", "b\r\nX-B: c")]),
        Attempt(method: "GET", url: HTTP2Bench.url, fields: [.init("X A", "b")]),
        Attempt(method: "GE T", url: HTTP2Bench.url, fields: []),
        Attempt(method: "GET", url: HTTPURL(scheme: .https, host: "a\n", port: 1, target: "/"), fields: []),
        Attempt(method: "GET", url: HTTPURL(scheme: .https, host: "a", port: 1, target: "/ x"), fields: []),
    ])
    func `a request that must not be sent leaves the connection as it was`(attempt: Attempt) throws {
        let bench = HTTP2Bench()
        #expect(throws: HTTPFailure.self) { try bench.machine.begin(HTTP2Request(attempt, hasBody: false), now: 0) }
        #expect(bench.sent().isEmpty && bench.openStreams == 0)
        #expect(bench.begin()?.number == 1)
    }

    private static let ok = (":status", "200")

    @Test(arguments: [
        [("x-a", "b")], [("x-a", "b"), ok], [ok, (":path", "/")], [ok, ok], [(":status", "20")], [(":status", "abc")],
        [(":status", "101")], [ok, ("connection", "close")], [ok, ("transfer-encoding", "chunked")],
        [ok, ("upgrade", "x")], [ok, ("x a", "b")], [ok, ("", "b")], [ok, ("x-a", "b\nc")], [ok, ("x-a", "b\0")],
        [ok, ("x-a", " b")], [ok, ("x-a", "b\t")], [ok, ("content-length", "1"), ("content-length", "2")],
        [ok, ("content-length", "1"), ("content-length", "1")], [ok, ("content-length", "-1")],
        [ok, ("content-length", "99999999999999999999")],
    ])
    func `a malformed head ends its stream alone`(fields: [(String, String)]) throws {
        let bench = HTTP2Bench()
        bench.begin()
        bench.begin()
        bench.head(1, fields)
        bench.head(3, [Self.ok], end: true)
        bench.flow()
        let events = bench.took()
        #expect(events.failure?.kind == .malformedResponse)
        #expect(events.ended == 1)
        #expect(bench.kinds() == [.headers, .headers, .resetStream])
        #expect(!bench.isClosed)
    }

    @Test func `an upper-case name is malformed`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.raw(.headers, 4, 1, [0x88, 0x00, 0x03] + Array("X-A".utf8) + [0x01, 0x62])
        bench.flow()
        #expect(bench.took().failure?.kind == .malformedResponse)
    }

    @Test func `a body must have the length that was declared`() {
        for end in [false, true] {
            let bench = HTTP2Bench()
            bench.begin()
            bench.head(1, [Self.ok, ("content-length", "5")])
            bench.data(1, [UInt8](repeating: 0, count: 6), end: end)
            bench.flow()
            #expect(bench.took().failure?.kind == .malformedResponse)
        }
    }

    @Test(arguments: [nil, 0, 4]) func `a body that ends early is lost, and its head is delivered`(length: Int?) {
        let bench = HTTP2Bench()
        bench.begin()
        bench.head(1, [Self.ok, ("content-length", "5")], end: length == nil)
        if let length { bench.data(1, [UInt8](repeating: 0, count: length), end: true) }
        bench.flow()
        let events = bench.took()
        #expect(events.failure?.kind == .connectionLost && events.failure?.phase == .response)
        if case .response(_, let head, _, _) = events.first {
            #expect(head.status == 200)
        } else {
            Issue.record("no head")
        }
        #expect(!bench.isClosed)
    }

    @Test func `heads without a body may declare a length, and must have none`() {
        let cases = [("HEAD", "200"), ("GET", "304"), ("GET", "204")]
        for (method, status) in cases {
            let bench = HTTP2Bench()
            bench.begin(method)
            bench.head(1, [(":status", status), ("content-length", "500")], end: true)
            bench.begin(method)
            bench.head(3, [(":status", status)])
            bench.data(3, [1])
            bench.flow()
            let events = bench.took()
            #expect(events.ended == 1)
            #expect(events.failure?.kind == .malformedResponse)
        }
    }

    @Test func `DATA before the head, a second head and pseudo-fields in trailers are malformed`() {
        for number in 0..<3 {
            let bench = HTTP2Bench()
            bench.begin()
            if number > 0 { bench.head(1, [Self.ok]) }
            switch number {
            case 0: bench.data(1, [1], end: true)
            case 1: bench.head(1, [("x-a", "b")])
            default: bench.head(1, [Self.ok], end: true)
            }
            bench.flow()
            #expect(bench.took().failure?.kind == .malformedResponse)
        }
    }

    @Test func `informational heads and fields have limits`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.begin()
        for _ in 0..<21 { bench.head(1, [(":status", "103")]) }
        bench.head(3, [Self.ok] + (0..<1001).map { ("x-\($0)", "v") })
        bench.flow()
        let kinds = bench.took().compactMap {
            if case .broke(_, .failed(let failure)) = $0 { failure.kind } else { nil }
        }
        #expect(kinds == [.limitExceeded, .limitExceeded])
        #expect(!bench.isClosed)
    }

    @Test func `a slot is not given to another stream before the last event was taken`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.head(1, [Self.ok], end: true)
        let bytes = bench.writer.take { Array($0) }
        _ = bytes.withUnsafeBytes { bench.machine.received($0, now: 0) }
        #expect(bench.openStreams == 0)
        #expect(bench.begin()?.slot == 1)
        while bench.machine.nextEvent() != nil {}
        #expect(bench.begin()?.slot == 0)
    }

    @Test func `a refusal in the middle of an upload pauses it, and the response ends the stream`() {
        let bench = HTTP2Bench()
        guard let id = bench.begin("POST", hasBody: true) else { return }
        bench.machine.bodyReady(id, 1000, isLast: false)
        #expect(bench.nextData() == HTTP2DataTurn(stream: id, bytes: 1000, isLast: false))
        bench.head(1, [(":status", "413"), ("content-length", "2")])
        bench.flow()
        guard case .response(_, _, _, true) = bench.took().first else { return #expect(Bool(false)) }
        bench.machine.bodyReady(id, 10, isLast: false)
        bench.machine.pauseSending(id, true)
        #expect(bench.nextData() == nil)
        bench.machine.bodyReady(id, 10, isLast: false)
        #expect(bench.nextData() == nil)
        bench.machine.pauseSending(id, false)
        #expect(bench.nextData() == HTTP2DataTurn(stream: id, bytes: 20, isLast: false))
        #expect(bench.nextData() == nil)
        bench.machine.bodyReady(id, 10, isLast: true)
        bench.machine.pauseSending(id, true)
        #expect(bench.nextData() == nil)
        bench.data(1, [1, 2], end: true)
        bench.raw(.resetStream, 0, 1, [0, 0, 0, 0])
        bench.flow()
        #expect(bench.took().ended == 1)
        #expect(!bench.isClosed)
    }

    @Test func `what replaying needs to know is told`() {
        func end(_ code: UInt8, _ prepare: (HTTP2Bench) -> Void = { _ in }) -> HTTP2StreamEnd? {
            let bench = HTTP2Bench()
            bench.begin()
            prepare(bench)
            bench.raw(.resetStream, 0, 1, [0, 0, 0, code])
            bench.flow()
            return bench.took().broke
        }
        #expect(end(7) == .unprocessed(HTTP2Fault(.refusedStream)))
        #expect(end(13) == .needsHTTP11)
        #expect(end(2) == .reset(HTTP2Fault(.internalError), .beforeResponse(replayable: false)))
        #expect(end(2) { $0.head(1, [(":status", "103")]) } == .reset(HTTP2Fault(.internalError), .inHead))
        #expect(end(0) { $0.head(1, [Self.ok]) } == .reset(HTTP2Fault(.noError), .inBody))
        #expect(end(7) { $0.head(1, [Self.ok]) } == .reset(HTTP2Fault(.refusedStream), .inBody))
    }
}
