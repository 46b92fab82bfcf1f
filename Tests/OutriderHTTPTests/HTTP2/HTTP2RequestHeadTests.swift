// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Requests one after the other on a connection, of which each may differ from the last.
struct HTTP2RequestHeadTests {
    private static func get(
        _ target: String = "/a", _ fields: HTTPFields = [.init("X-A", "b"), .init("Accept", "*/*")],
        host: String = "a.test", method: String = "GET"
    ) -> Attempt {
        Attempt(method: method, url: HTTPURL(scheme: .https, host: host, port: 443, target: target), fields: fields)
    }

    private static let attempts: [Attempt] = {
        var coded = get()
        coded.decodesContent = false
        let one = [
            get("/b"), get("/"), get("/a", [.init("X-A", "c"), .init("Accept", "*/*")]),
            get("/a", [.init("Accept", "*/*"), .init("X-A", "b")]), get("/a", []), get(host: "b.test"),
            get(method: "DELETE"), get("/a", [.init("Host", "c.test")]),
            get("/a", [.init("Authorization", "Bearer 1")]), get("/a", [.init("Authorization", "Bearer 2")]),
            // canonically equivalent values are not the same bytes
            get("/a", [.init("X-A", "\u{212B}")]), get("/a", [.init("X-A", "A\u{30A}")]), coded,
            Attempt(method: "POST", url: get().url, fields: [], body: .bytes([1, 2])), get(),
        ]
        return one.flatMap { [$0, $0, $0, $0] } + one
    }()

    @Test(arguments: [4096, 100, 0])
    func `a request that follows others is written as the first of a connection is`(table: Int) throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var head = HTTP2RequestHead()
        for (index, attempt) in Self.attempts.enumerated() {
            if index == 9 { encoder.resize(table) }
            let request = HTTP2Request(attempt, hasBody: attempt.body.size != 0)
            var output = WireBytes()
            head.write(request, isKnown: head.isKnown(request), &encoder, &output)
            #expect(try Self.fields(output, &decoder) == Self.alone(request), "request \(index)")
        }
    }

    @Test func `remembered bytes do not outlive a change of the table`() throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var head = HTTP2RequestHead()
        let long = "/" + String(repeating: "x", count: 3000)
        for (index, target) in ["/a", "/a", "/a", long, "/a", "/b"].enumerated() {
            if index == 3 { encoder.resize(0) }
            let request = HTTP2Request(Self.get(target), hasBody: false)
            var output = WireBytes()
            head.write(request, isKnown: head.isKnown(request), &encoder, &output)
            #expect(try Self.fields(output, &decoder) == Self.alone(request), "request \(index)")
        }
    }

    @Test(arguments: ["Authorization", "Cookie", "proxy-authorization", "X-Api-Key"])
    func `a request with credentials is not kept in memory`(name: String) {
        var encoder = HPACKEncoder()
        var head = HTTP2RequestHead()
        let request = HTTP2Request(Self.get("/a", [.init(name, "secret")]), hasBody: false)
        var output = WireBytes()
        head.write(request, isKnown: false, &encoder, &output)
        let keeps = head.isKnown(request)
        #expect(!keeps)
        let harmless = HTTP2Request(Self.get("/a", [.init("X-A", "b")]), hasBody: false)
        head.write(harmless, isKnown: false, &encoder, &output)
        let keepsHarmless = head.isKnown(harmless)
        #expect(keepsHarmless)
    }

    private static func alone(_ request: HTTP2Request) throws -> [String] {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var output = WireBytes()
        HTTP2RequestFields.writePseudo(request.attempt, &encoder, &output)
        HTTP2RequestFields.writePath(request.attempt.url.target, &encoder, &output)
        HTTP2RequestFields.writeFields(request, &encoder, &output)
        return try fields(output, &decoder)
    }

    private static func fields(_ output: borrowing WireBytes, _ decoder: inout HPACKDecoder) throws -> [String] {
        var block = HTTP2FieldBlock(keeps: true)
        try #require(decoder.decode(output.bytes, into: &block) == nil)
        return block.fields.map { "\($0.name): \($0.value)" } + [block.fault ?? ""]
    }

    @Test func `a request that must not be sent is refused again`() {
        let bench = HTTP2Bench()
        let bad = HTTP2Request(Self.get("/a", [.init("X-A", "b\r\nX-B: c")]), hasBody: false)
        for _ in 0..<3 {
            #expect(throws: HTTPFailure.self) { try bench.machine.begin(bad, now: 0) }
        }
        for target in ["/a", "/a", "/a"] {
            #expect((try? bench.machine.begin(HTTP2Request(Self.get(target), hasBody: false), now: 0)) != nil)
        }
        #expect(throws: HTTPFailure.self) {
            try bench.machine.begin(HTTP2Request(Self.get("/a b"), hasBody: false), now: 0)
        }
    }
}
