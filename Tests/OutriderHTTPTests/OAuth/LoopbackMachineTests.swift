// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// The response to a browser that comes back after a login.
@Suite struct LoopbackMachineTests {
    private static func machine(port: Int = 4321) -> LoopbackMachine {
        LoopbackMachine(path: "/a1b2", host: "127.0.0.1", port: port)
    }

    private static func head(_ line: String, _ fields: [String] = ["Host: 127.0.0.1:4321"]) -> [UInt8] {
        Array(([line] + fields + ["", ""]).joined(separator: "\r\n").utf8)
    }

    @Test func `localhost is two addresses, and that of IPv6 stands in brackets`() {
        var wishes = LoopbackWishes(path: "/a1b2")
        #expect(wishes.addresses == ["127.0.0.1"] && wishes.writtenHost == "127.0.0.1")
        wishes.host = "localhost"
        #expect(wishes.addresses == ["127.0.0.1", "::1"] && wishes.writtenHost == "localhost")
        wishes.host = "::1"
        #expect(wishes.addresses == ["::1"] && wishes.writtenHost == "[::1]")
        var machine = LoopbackMachine(path: "/a1b2", host: wishes.writtenHost, port: 4321)
        for host in ["::1:4321", "[::1]", "127.0.0.1:4321", "[::]:4321"] {
            #expect(machine.take(head: Self.head("GET /a1b2?code=c HTTP/1.1", ["Host: \(host)"])).query == nil)
        }
        #expect(machine.take(head: Self.head("GET /a1b2?code=c HTTP/1.1", ["Host: [::1]:4321"])).query == "code=c")
    }

    @Test func `a query that is not expected gets 404, and the next one counts`() {
        var machine = Self.machine()
        let expects = { (query: String) in query.hasSuffix("state=s") }
        let wrong = machine.take(head: Self.head("GET /a1b2?code=c&state=evil HTTP/1.1"), isExpected: expects)
        #expect(wrong.query == nil && String(decoding: wrong.bytes, as: UTF8.self).hasPrefix("HTTP/1.1 404 "))
        let right = machine.take(head: Self.head("GET /a1b2?code=c&state=s HTTP/1.1"), isExpected: expects)
        #expect(right.query == "code=c&state=s")
    }

    @Test func `the one request that is waited for gets a page, once`() {
        var machine = Self.machine()
        let response = machine.take(head: Self.head("GET /a1b2?code=SECRET&state=s HTTP/1.1"))
        #expect(response.query == "code=SECRET&state=s")
        let text = String(decoding: response.bytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.contains("\r\nReferrer-Policy: no-referrer\r\n"))
        #expect(text.contains("\r\nConnection: close\r\n"))
        #expect(text.contains("\r\nCache-Control: no-store\r\n"))
        #expect(!text.contains("SECRET"))
        let again = machine.take(head: Self.head("GET /a1b2?code=SECRET&state=s HTTP/1.1"))
        #expect(again.query == nil)
        #expect(again.bytes.starts(with: "HTTP/1.1 404 ".utf8))
    }

    @Test func `a refusal has another page`() {
        var (machine, other) = (Self.machine(), Self.machine())
        let refused = machine.take(head: Self.head("GET /a1b2?error=access_denied&state=s HTTP/1.1"))
        #expect(refused.query == "error=access_denied&state=s")
        #expect(String(decoding: refused.bytes, as: UTF8.self).contains("Not logged in"))
        #expect(other.take(head: Self.head("GET /a1b2 HTTP/1.1")).query == "")
    }

    @Test(
        "anything else is 404 and changes nothing",
        arguments: [
            ("GET / HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /favicon.ico HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2?code=c&st\ra=b HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2?code=c\u{0} HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2/?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /A1B2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2%3Fcode=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET http://127.0.0.1:4321/a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("HEAD /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("POST /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("OPTIONS /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("get /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2?code=c HTTP/1.0", ["Host: 127.0.0.1:4321"]),
            ("GET  /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2?code=c", ["Host: 127.0.0.1:4321"]),
            ("", ["Host: 127.0.0.1:4321"]),
            ("GET /a1b2?code=c HTTP/1.1", []),
            ("GET /a1b2?code=c HTTP/1.1", ["Host: evil.example:4321"]),
            ("GET /a1b2?code=c HTTP/1.1", ["Host: localhost:4321"]),
            ("GET /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1"]),
            ("GET /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1:4321", "Host: evil.example"]),
            ("GET /a1b2?code=c HTTP/1.1", ["X-Host: 127.0.0.1:4321"]),
        ])
    func nothing(line: String, fields: [String]) {
        var machine = Self.machine()
        let response = machine.take(head: Self.head(line, fields))
        #expect(response.query == nil)
        #expect(response.bytes.starts(with: "HTTP/1.1 404 ".utf8))
        #expect(machine.take(head: Self.head("GET /a1b2?code=c HTTP/1.1")).query == "code=c")
    }

    @Test func `a head that does not end is none`() {
        var machine = Self.machine()
        #expect(machine.take(head: Array("GET /a1b2?code=c HTTP/1.1\r\nHost: 127.0.0.1:4321\r\n".utf8)).query == nil)
        #expect(machine.take(head: []).query == nil)
    }

    @Test func `on port 80 the browser does not name the port`() {
        var machine = Self.machine(port: 80)
        #expect(machine.take(head: Self.head("GET /a1b2?code=c HTTP/1.1", ["Host: 127.0.0.1"])).query == "code=c")
    }

    @Test func `no noise passes for the response`() {
        let good = String(decoding: Self.head("GET /a1b2?code=c HTTP/1.1"), as: UTF8.self)
        for text in Mutations(of: [good], count: 3000, seed: 4, spice: " \r\n:?/") {
            var machine = Self.machine()
            let response = machine.take(head: Array(text.utf8))
            if response.query != nil { #expect(text.hasPrefix("GET /a1b2") && text.lowercased().contains("host:")) }
        }
    }
}
