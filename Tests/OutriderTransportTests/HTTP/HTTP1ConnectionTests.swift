// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Testing

@testable import OutriderTransport

/// One connection, byte by byte, on a channel of memory.
struct HTTP1ConnectionTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    @Test func `a connection whose response is whole carries the next request`() throws {
        let stage = try StagedConnection()
        for number in 0..<3 {
            let user = try stage.begin()
            try stage.receive(Self.hello)
            #expect(user.text == "hello" && user.trailers != nil && user.end == nil)
            #expect(user.isReused == (number > 0))
            #expect(stage.pool.counts.idle == 1 && stage.channel.isActive)
            // the next request takes the connection out of the pool
            let borrower = Borrower()
            _ = stage.pool.ask(borrower)
            #expect(borrower.lent === stage.connection)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", Self.hello + "x",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func `a connection that ends or says too much is not used again`(_ response: String) throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive(response)
        #expect(user.text == "hello" && user.trailers != nil && user.end == nil)
        #expect(stage.pool.counts == .init() && !stage.channel.isActive)
    }

    @Test func `bytes that no request asked for end an idle connection`() throws {
        let stage = try StagedConnection()
        try stage.begin()
        try stage.receive(Self.hello)
        try stage.receive(Self.hello)
        #expect(stage.pool.counts == .init() && !stage.channel.isActive)
    }

    @Test func `a connection that dies before a response is replayable if it was used before`() throws {
        let fresh = try StagedConnection()
        let first = try fresh.begin()
        fresh.disconnect()
        #expect(first.end == .beforeResponse(replayable: false) && fresh.pool.counts == .init())

        let used = try StagedConnection()
        try used.begin()
        try used.receive(Self.hello)
        _ = used.pool.ask(Borrower())
        let second = try used.begin()
        used.disconnect()
        #expect(second.end == .beforeResponse(replayable: true))
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nCont", ConnectionEnd.inHead), ("HTTP/1.1 103 Hints\r\n\r\n", .inHead),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", .inBody),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", .inBody),
    ])
    func `a response that breaks off says where`(_ response: String, _ end: ConnectionEnd) throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive(response)
        #expect(user.end == nil && user.trailers == nil)
        stage.disconnect()
        #expect(user.end == end && user.trailers == nil && stage.pool.counts == .init())
    }

    @Test func `a body without a length ends with its connection`() throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive("HTTP/1.1 200 OK\r\n\r\nhel")
        try stage.receive("lo")
        #expect(user.trailers == nil)
        stage.disconnect()
        #expect(user.text == "hello" && user.trailers != nil && user.end == nil && stage.pool.counts == .init())
    }

    @Test func `trailers come with the end of the body`() throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n")
        #expect(user.text == "hello" && user.trailers?.first("A") == "b" && stage.pool.counts.idle == 1)
    }

    @Test func `too many informational heads end the request`() throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive(String(repeating: "HTTP/1.1 103 Hints\r\n\r\n", count: HTTP1Limits.informational))
        #expect(user.heads.count == HTTP1Limits.informational && user.end == nil)
        try stage.receive("HTTP/1.1 103 Hints\r\n\r\n")
        #expect(user.end == .inHead && !stage.channel.isActive)
    }

    @Test func `a user that wants no more stops the reading until it has taken something`() throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        user.wants = false
        let before = stage.reads.count
        try stage.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
        #expect(stage.reads.count == before)
        stage.connection.consumed(1)
        #expect(stage.reads.count == before)
        user.wants = true
        stage.connection.consumed(2)
        #expect(stage.reads.count == before + 1)
        try stage.receive("lo")
        #expect(user.text == "hello" && stage.pool.counts.idle == 1)
    }

    @Test func `a refusal stops the request body, and its connection ends`() throws {
        let stage = try StagedConnection()
        let user = HeardResponse()
        let attempt = Attempt.local(1, method: "POST", body: .bytes(Array(repeating: 0, count: 100_000)))
        _ = try #require(try stage.connection.begin(attempt, expects: false, for: user))
        try stage.receive("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        #expect(user.stopsSending && user.trailers != nil && !stage.channel.isActive)
    }

    @Test func `a stream that is given up closes its connection, and tells the pool once`() throws {
        let stage = try StagedConnection()
        let user = try stage.begin()
        try stage.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
        stage.connection.cancel()
        stage.connection.cancel()
        stage.disconnect()
        #expect(user.end == nil && user.trailers == nil && stage.pool.counts == .init())
        #expect(try stage.connection.begin(.local(1), expects: false, for: user) == nil)
    }

    // MARK: the reader of plain heads beside the full parser

    /// Pieces of which responses are put together: usual ones more often than odd ones.
    private enum Samples {
        static let status = [
            "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 204 No Content",
            "HTTP/1.1 304 Not Modified", "HTTP/1.1 503 Try later, please", "HTTP/1.1 200 ", "HTTP/1.1 200",
            "HTTP/1.0 200 OK", "HTTP/1.1 299 Odd", "HTTP/1.1 599 Odd", "HTTP/1.1 600 Odd", "HTTP/1.1 099 Odd",
            "HTTP/1.1 103 Hints", "HTTP/1.1  200 OK", "http/1.1 200 OK", "HTTP/1.1 2000 OK", "HTTP/2.0 200 OK",
        ]
        static let fields = [
            "Server: nginx", "X: 1", "x:2", "Date: Thu, 01 Jan 1970 00:00:00 GMT", "Connection: keep-alive",
            "Connection: close", "Set-Cookie: a=b; Path=/", "ETag: \"a b\"", "A-Very_Odd.Name!#$%&'*+^`|~: v",
            "Empty:", "Spaces:   a  b  ", "Tab:\tv", "Folded: a\r\n b", "Bad Name: v", "NoColon", ": v",
            "Upgrade: h2c", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Keep-Alive: timeout=5",
            "Content-Encoding: gzip", "Latin: caf\u{E9}", "Null: a\u{0}b", "Trailer: A", "Content-Type: text/plain",
        ]
        static let lengths = [
            "Content-Length: 5", "Content-Length: 5", "Content-Length: 5", "content-length:5", "CONTENT-LENGTH: 0",
            "Content-Length: 05", "Content-Length: +5", "Content-Length: -1", "Content-Length: 5, 5",
            "Content-Length: 6", "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 99999999999999999999", "Content-Length: five", "Content-Length: ", "X-Length: 5",
        ]
        static let bodies = ["hello", "hello", "hello", "", "hel", "hello!", "5\r\nhello\r\n0\r\n\r\n"]
        static let odd: [UInt8] = [0, 9, 10, 13, 32, 34, 44, 58, 127, 128, 195, 255]
    }

    private static func response(_ random: inout SplitMix) -> [UInt8] {
        var lines = [random.usually(Samples.status)]
        for _ in 0..<random.below(4) { lines.append(random.usually(Samples.fields)) }
        lines.insert(random.usually(Samples.lengths), at: 1 + random.below(lines.count))
        let end = random.below(12) == 0 ? "\n" : "\r\n"
        let head = lines.map { $0 + end }.joined() + end
        var bytes = Array((head + random.pick(Samples.bodies)).utf8)
        if random.below(6) == 0 { bytes[random.below(bytes.count)] = random.pick(Samples.odd) }
        if random.below(8) == 0 { bytes.remove(at: random.below(bytes.count)) }
        return bytes
    }

    /// What a user hears of a response that comes in these reads, after which the server ends the connection.
    private func heard(_ reads: [ArraySlice<UInt8>]) throws -> String {
        let stage = try StagedConnection()
        let user = try stage.begin()
        for read in reads where stage.channel.isActive { try stage.receive(read) }
        let said = "\(user), idle \(stage.pool.counts.idle)"
        if stage.channel.isActive { stage.disconnect() }
        return "\(said), then \(user)"
    }

    @Test func `the reader of plain heads and the full parser say the same of any response`() throws {
        var random = SplitMix(2026)
        var plain = 0
        for _ in 0..<1_500 {
            let bytes = Self.response(&random)
            let isPlain = bytes.withUnsafeBytes { PlainHead($0) } != nil
            plain += isPlain ? 1 : 0
            // a head whose first byte comes alone is not whole, so the full parser gets all of it
            let whole = try heard([bytes[...]])
            let parsed = try heard([bytes[..<1], bytes[1...]])
            #expect(!isPlain || whole == parsed, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(plain > 200, "only \(plain) were plain")
    }
}

/// Random numbers that are the same in each run.
struct SplitMix {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % limit }
    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
    /// One of the first three in two cases of three.
    mutating func usually<Element>(_ list: [Element]) -> Element {
        below(3) == 0 ? pick(list) : list[below(min(3, list.count))]
    }
}
