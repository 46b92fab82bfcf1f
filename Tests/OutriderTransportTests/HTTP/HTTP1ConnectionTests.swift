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

    // MARK: heads in one pass beside heads line by line

    /// What a user hears of a response that comes in these reads, after which the server ends the connection.
    private func heard(_ reads: [ArraySlice<UInt8>]) throws -> String {
        let stage = try StagedConnection()
        let user = try stage.begin()
        for read in reads where stage.channel.isActive { try stage.receive(read) }
        let said = "\(user), idle \(stage.pool.counts.idle)"
        if stage.channel.isActive { stage.disconnect() }
        return "\(said), then \(user)"
    }

    @Test func `a head in one pass and line by line says the same of any response`() throws {
        var random = SplitMix(2026)
        var plain = 0
        for _ in 0..<1_500 {
            let bytes = GeneratedResponses.next(&random)
            let isPlain = bytes.withUnsafeBytes { PlainHead($0) } != nil
            plain += isPlain ? 1 : 0
            // a head whose first byte comes alone is not whole, and goes line by line
            let whole = try heard([bytes[...]])
            let parsed = try heard([bytes[..<1], bytes[1...]])
            #expect(!isPlain || whole == parsed, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(plain > 200, "only \(plain) were plain")
    }
}
