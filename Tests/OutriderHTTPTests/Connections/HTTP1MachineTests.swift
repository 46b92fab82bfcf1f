// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HTTP1MachineTests {
    private typealias Head = HTTP1Machine.Head

    private static func head(_ status: Int, _ fields: HTTPFields = [], _ version: HTTPVersion = .http11) -> ResponseHead
    {
        ResponseHead(status: status, version: version, fields: fields)
    }

    private static let five: HTTPFields = [.init("Content-Length", "5")]

    @Test func `a connection carries one request after the other`() throws {
        var machine = HTTP1Machine()
        for round in 1...3 {
            #expect(machine.isIdle == true)
            #expect(machine.begin(method: "GET") == true)
            #expect(machine.requests == round)
            #expect(machine.isReused == (round > 1))
            #expect(machine.begin(method: "GET") == false)
            machine.requestSent()
            #expect(machine.bytesReceived(beginsResponse: true) == .wanted)
            let head = try machine.headReceived(Self.head(200, Self.five))
            #expect(head == .response(.length(5), stopSending: false))
            #expect(machine.bodyEnded() == .reuse)
        }
        #expect(machine.closed() == .quiet)
        #expect(machine.begin(method: "GET") == false)
    }

    @Test func `interim heads are passed, the final one counts`() throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "POST") == true)
        for status in [100, 102, 103, 199] {
            let interim = try machine.headReceived(Self.head(status, Self.five))
            #expect(interim == .informational)
        }
        machine.requestSent()
        let final = try machine.headReceived(Self.head(200, Self.five))
        #expect(final == .response(.length(5), stopSending: false))
        #expect(machine.bodyEnded() == .reuse)
    }

    @Test(arguments: [(200, false), (299, false), (300, true), (401, true), (413, true), (500, true)])
    func `a refusal stops a body that is still moving, and the connection`(status: Int, stops: Bool) throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "POST") == true)
        let head = try machine.headReceived(Self.head(status, Self.five))
        #expect(head == .response(.length(5), stopSending: stops))
        #expect(machine.bodyEnded() == .close)
        #expect(machine.begin(method: "GET") == false)
    }

    @Test func `an early response to a request that is sent before the body ends does no harm`() throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "POST") == true)
        _ = try machine.headReceived(Self.head(200, Self.five))
        machine.requestSent()
        #expect(machine.bodyEnded() == .reuse)
    }

    private static let promises: [(String, Double?)] = [
        ("timeout=60", 59.0), ("timeout=5, max=100", 4), ("max=100, Timeout = 5", 4), ("timeout=\"5\"", 4),
        ("timeout=2", 1.5), ("timeout=1", 0.75), ("max=5", nil), ("timeout", nil), ("timeout=", nil),
        ("timeout=-1", nil), ("timeout=1.5", nil), ("xtimeout=5", nil), ("timeout=99999999999999999999", nil),
    ]

    @Test(arguments: promises)
    func `a server may say for how long a connection may be idle`(value: String, seconds: Double?) throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        var fields = Self.five
        fields.add("keep-alive", value)
        _ = try machine.headReceived(Self.head(200, fields))
        #expect(machine.bodyEnded() == .reuse)
        #expect(machine.idleSeconds == seconds)
        // the last response counts
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        _ = try machine.headReceived(Self.head(200, Self.five))
        #expect(machine.idleSeconds == nil)
    }

    @Test(arguments: ["timeout=0", "timeout=5, max=0", "max=0"])
    func `a connection that may not be idle at all, or carry no other request, ends`(value: String) throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        var fields = Self.five
        fields.add("Keep-Alive", value)
        _ = try machine.headReceived(Self.head(200, fields))
        #expect(machine.bodyEnded() == .close)
    }

    @Test(arguments: [
        ("1.1", "", true), ("1.1", "keep-alive", true), ("1.1", "close", false), ("1.1", "Close", false),
        ("1.1", "foo, close", false), ("1.1", "foo", true), ("1.0", "", false), ("1.0", "keep-alive", true),
        ("1.0", "Keep-Alive, close", false), ("1.2", "", true),
    ])
    func `whether a connection stays open is the server's word`(version: String, option: String, reuse: Bool) throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        var fields = Self.five
        if !option.isEmpty { fields.add("connection", option) }
        let minor = version.utf8.last == 0x30 ? 0 : version.utf8.last == 0x31 ? 1 : 2
        _ = try machine.headReceived(Self.head(200, fields, HTTPVersion(1, minor)))
        #expect(machine.bodyEnded() == (reuse ? .reuse : .close))
    }

    @Test(arguments: [
        ("NTLM TlRMTVNTUAAD", 200, "", false), ("ntlm\tTlRMTVNTUAAD", 404, "", false),
        ("Negotiate YII=", 200, "", false),
        ("NTLM TlRMTVNTUAAB", 401, "NTLM TlRMTVNTUAAC", true),
        ("Negotiate TlRMTVNTUAAB", 401, "Basic, negotiate TlRMTVNTUAAC", true),
        // the user is known, and is refused this resource
        ("NTLM TlRMTVNTUAAD", 401, "", false), ("NTLM TlRMTVNTUAAD", 401, "Negotiate, NTLM", false),
        ("Negotiate YII=", 401, "Negotiate oYG2MIGz", false),
        ("NTLM TlRMTVNTUAAD", 200, "NTLM TlRMTVNTUAAC", false),
        ("Basic YTpi", 200, "", true), ("Bearer NTLM", 200, "", true), ("NTLMv3 x", 200, "", true),
    ])
    func `a connection that is logged in carries no other request`(
        value: String, status: Int, challenge: String, reuse: Bool
    ) throws {
        let url = try HTTPURL(parsing: "http://a.test/")
        let attempt = Attempt(method: "GET", url: url, fields: [.init("authorization", value)])
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET", logsIn: attempt.logsIn) == true)
        machine.requestSent()
        var fields = Self.five
        if !challenge.isEmpty { fields.add("www-authenticate", challenge) }
        _ = try machine.headReceived(Self.head(status, fields))
        #expect(machine.bodyEnded() == (reuse ? .reuse : .close))
    }

    @Test func `several connection fields count as one list`() throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        var fields = Self.five
        fields.add("Connection", "keep-alive")
        fields.add("Connection", "close")
        _ = try machine.headReceived(Self.head(200, fields))
        #expect(machine.bodyEnded() == .close)
    }

    @Test func `a close means what the connection was doing`() throws {
        var idle = HTTP1Machine()
        #expect(idle.closed() == .quiet)

        var silent = HTTP1Machine()
        #expect(silent.begin(method: "GET") == true)
        silent.requestSent()
        #expect(silent.closed() == .beforeResponse(replayable: false))

        var begun = HTTP1Machine()
        #expect(begun.begin(method: "GET") == true)
        #expect(begun.bytesReceived(beginsResponse: true) == .wanted)
        #expect(begun.closed() == .inHead)

        var interim = HTTP1Machine()
        #expect(interim.begin(method: "GET") == true)
        _ = try interim.headReceived(Self.head(100))
        #expect(interim.closed() == .inHead)

        var body = HTTP1Machine()
        #expect(body.begin(method: "GET") == true)
        _ = try body.headReceived(Self.head(200, Self.five))
        #expect(body.closed() == .inBody)

        var chunks = HTTP1Machine()
        #expect(chunks.begin(method: "GET") == true)
        _ = try chunks.headReceived(Self.head(200, [.init("Transfer-Encoding", "chunked")]))
        #expect(chunks.closed() == .inBody)

        var open = HTTP1Machine()
        #expect(open.begin(method: "GET") == true)
        _ = try open.headReceived(Self.head(200))
        #expect(open.closed() == .endsBody)
        #expect(open.closed() == .quiet)
    }

    @Test func `a reused connection that dies in silence may be replaced`() throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        _ = try machine.headReceived(Self.head(204))
        #expect(machine.bodyEnded() == .reuse)
        #expect(machine.begin(method: "GET") == true)
        #expect(machine.closed() == .beforeResponse(replayable: true))
    }

    @Test func `bytes without a request end the connection`() throws {
        var machine = HTTP1Machine()
        #expect(machine.bytesReceived(beginsResponse: true) == .unasked)
        #expect(machine.begin(method: "GET") == false)

        var second = HTTP1Machine()
        #expect(second.begin(method: "GET") == true)
        second.requestSent()
        _ = try second.headReceived(Self.head(204))
        #expect(throws: HTTPFailure.self) { try second.headReceived(Self.head(200)) }
        #expect(second.bodyEnded() == .close)
    }

    @Test(arguments: [204, 304, 200])
    func `what a response left behind is not taken for the next one`(status: Int) throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        machine.requestSent()
        _ = try machine.headReceived(Self.head(status, [.init("Content-Length", "0")]))
        #expect(machine.bodyEnded() == .reuse)
        #expect(machine.begin(method: "GET") == true)
        #expect(machine.bytesReceived(beginsResponse: false) == .leftOver)
        // the request may be sent again, as if the connection had ended in silence
        #expect(machine.closed() == .beforeResponse(replayable: true))
    }

    @Test func `bytes that cannot begin a response are looked at only where one begins`() throws {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "HEAD") == true)
        machine.requestSent()
        // the first response of a connection has nothing before it
        #expect(machine.bytesReceived(beginsResponse: false) == .wanted)
        _ = try machine.headReceived(Self.head(200, Self.five))
        #expect(machine.bodyEnded() == .reuse)
        #expect(machine.begin(method: "GET") == true)
        #expect(machine.bytesReceived(beginsResponse: true) == .wanted)
        #expect(machine.bytesReceived(beginsResponse: false) == .wanted)
    }

    @Test func `a head without a request is refused`() {
        var machine = HTTP1Machine()
        #expect(throws: HTTPFailure.self) { try machine.headReceived(Self.head(200)) }
        #expect(machine.begin(method: "GET") == false)
    }

    @Test(arguments: [
        (ResponseHead(status: 200, version: HTTPVersion(2, 0)), "HTTP/2"),
        (ResponseHead(status: 200, version: HTTPVersion(0, 9)), "HTTP/0.9"),
        (ResponseHead(status: 99), "status 99"), (ResponseHead(status: 0), "status 0"),
        (ResponseHead(status: 1000), "status 1000"), (ResponseHead(status: -200), "status -200"),
        (ResponseHead(status: 101), "switched protocols"),
    ])
    func `heads that are no response are refused`(head: ResponseHead, part: String) {
        var machine = HTTP1Machine()
        #expect(machine.begin(method: "GET") == true)
        let failure = #expect(throws: HTTPFailure.self) { try machine.headReceived(head) }
        #expect(failure?.kind == .malformedResponse)
        #expect(failure?.sent == .sent)
        #expect(failure?.message.contains(part) == true)
        #expect(machine.closed() == .quiet)
    }

    /// Random events in random order: nothing traps, a dead connection stays dead, and no two requests overlap.
    @Test func `no order of events breaks a promise`() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<2000 {
            var machine = HTTP1Machine()
            var isDead = false
            for _ in 0..<12 {
                let wasIdle = machine.isIdle
                switch Int.random(in: 0..<6, using: &random) {
                case 0: #expect(machine.begin(method: "GET") == (wasIdle && !isDead))
                case 1: machine.requestSent()
                case 2: if machine.bytesReceived(beginsResponse: true) != .wanted { isDead = true }
                case 3:
                    let status = [100, 200, 204, 304, 500, 7].randomElement(using: &random) ?? 200
                    if (try? machine.headReceived(Self.head(status, Self.five))) == nil { isDead = true }
                case 4: if machine.bodyEnded() == .close { isDead = true }
                default:
                    _ = machine.closed()
                    isDead = true
                }
                if isDead { #expect(machine.isIdle == false) }
            }
        }
    }
}
