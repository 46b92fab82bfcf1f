// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What is said to an HTTP proxy to open a tunnel, and what is made of its response.
@Suite struct ConnectMachineTests {
    private static func machine(_ url: String = "https://h.test/x?y") throws -> ConnectMachine {
        ConnectMachine(to: try HTTPURL(parsing: url), userAgent: nil, authorization: nil)
    }

    /// The step that the whole response leads to, in one piece.
    private static func step(_ response: String) throws -> TunnelStep {
        var machine = try machine()
        _ = machine.begin()
        return machine.received(Array(response.utf8))
    }

    private static func kind(_ step: TunnelStep) -> HTTPFailure.Kind? {
        if case .failed(let kind, _) = step { kind } else { nil }
    }

    @Test func `it asks for host and port, and says nothing else of the request [AD3]`() throws {
        var machine = ConnectMachine(
            to: try HTTPURL(parsing: "https://h.test/x?token=t"), userAgent: "u/1",
            authorization: FieldText("Basic eDp5"))
        #expect(
            String(decoding: machine.begin(), as: UTF8.self)
                == "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\nUser-Agent: u/1\r\nProxy-Authorization: Basic eDp5\r\n\r\n"
        )
        var other = try Self.machine("https://[::1]:8443/")
        #expect(
            String(decoding: other.begin(), as: UTF8.self) == "CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\n\r\n")
    }

    @Test func `nothing can end its head early`() throws {
        let url = try HTTPURL(parsing: "https://h.test/")
        for evil in ["a\r\nX: y", "a\nb", "a\u{0}"] {
            var machine = ConnectMachine(to: url, userAgent: evil, authorization: FieldText(evil))
            #expect(
                String(decoding: machine.begin(), as: UTF8.self)
                    == "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\n\r\n")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 Connection established\r\n\r\n", "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.1 200 \r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 299 X\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func `any 2xx opens the tunnel, whatever its fields say of a body`(response: String) throws {
        #expect(try Self.step(response) == .open)
        // byte by byte it is the same
        var machine = try Self.machine()
        let bytes = Array(response.utf8)
        for (index, byte) in bytes.enumerated() {
            #expect(machine.received([byte]) == (index == bytes.count - 1 ? .open : .wait))
        }
        #expect(Self.kind(machine.received([0x16])) == .malformedResponse)
    }

    @Test func `what follows an acceptance is not the server's [AD9]`() throws {
        #expect(Self.kind(try Self.step("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) == .malformedResponse)
        #expect(Self.kind(try Self.step("HTTP/1.1 200 OK\r\n\r\n\u{16}\u{3}\u{3}")) == .malformedResponse)
    }

    @Test func `the first bytes of a peer that may speak first are its own`() throws {
        var machine = ConnectMachine(
            to: try HTTPURL(parsing: "https://h.test:22/"), userAgent: nil, authorization: nil, peerMaySpeakFirst: true)
        #expect(machine.received(Array("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n".utf8)) == .open)
        #expect(machine.early == Array("SSH-2.0-x\r\n".utf8))
    }

    @Test(arguments: [
        ("Content-Length: 4\r\n\r\nbody", true), ("Content-Length: 0\r\n\r\n", true),
        ("Content-Length: 4\r\nConnection: close\r\n\r\nbody", false), ("\r\nbody", false),
        ("Content-Length: 4\r\n\r\nbody and more", false), ("Content-Length: 9999999\r\n\r\n", false),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false), ("Content-Length: x\r\n\r\n", false),
        ("Content-Length: 4\r\nContent-Length: 5\r\n\r\n", false),
    ])
    func `a refusal is read so far that the proxy can get another request, where that is worth it`(
        rest: String, isReusable: Bool
    ) throws {
        guard case .refused(let head, let reusable) = try Self.step("HTTP/1.1 407 Who\r\nA: b\r\n\(rest)") else {
            Issue.record("it was no refusal")
            return
        }
        #expect(head.status == 407 && head.reason == "Who" && head.fields.first("a") == "b")
        #expect(reusable == isReusable)
    }

    @Test func `the body of a refusal is waited for only if another request follows`() throws {
        var machine = try Self.machine()
        #expect(machine.received(Array("HTTP/1.1 407 Who\r\nContent-Length: 4\r\n\r\n".utf8)) == .wait)
        #expect(machine.received([1, 2, 3]) == .wait)
        // the proxy may go before the rest has come
        #expect(machine.cutRefusal?.status == 407)
        guard case .refused(_, isReusable: true) = machine.received([4]) else {
            Issue.record("it did not end")
            return
        }
        #expect(machine.cutRefusal == nil)
        let step = try Self.step("HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\n")
        guard case .refused(let head, isReusable: false) = step, head.status == 403 else {
            Issue.record("the body was waited for")
            return
        }
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 20 X\r\n\r\n", "\r\n\r\n",
        "\n\n",
        "HTTP/1.1 2000 X\r\n\r\n", "HTTP/1.1 200 OK\r\nA b\r\n\r\n", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\rA: b\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n", "ICY 200 OK\r\n\r\n",
        String(repeating: "HTTP/1.1 103 X\r\n\r\n", count: 21),
    ])
    func `what is no response in HTTP/1 is none`(response: String) throws {
        #expect(Self.kind(try Self.step(response)) == .malformedResponse)
    }

    @Test func `a switch of protocols is told as such`() throws {
        let step = try Self.step("HTTP/1.1 101 X\r\n\r\n")
        #expect(step == .failed(.malformedResponse, "switched to a protocol that was not asked for"))
    }

    @Test func `a head is no longer than 64 KiB`() throws {
        var machine = try Self.machine()
        let piece = [UInt8](repeating: 0x61, count: 8 << 10)
        _ = machine.received(Array("HTTP/1.1 200 OK\r\nA: ".utf8))
        var steps = 0
        while machine.received(piece) == .wait { steps += 1 }
        #expect(steps < 8)
        #expect(
            Self.kind(try Self.step("HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 65_536))\r\n\r\n"))
                == .limitExceeded)
    }

    @Test func `no bytes, however cut, stop us`() throws {
        var random = SeededRandom(seed: 9110)
        let samples = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 407 W\r\nContent-Length: 3\r\n\r\nabc",
        ].map { Array($0.utf8) }
        for _ in 0..<3_000 {
            var bytes = samples.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var machine = try Self.machine()
            var pieces: [TunnelStep] = []
            while !bytes.isEmpty, pieces.last ?? .wait == .wait {
                let count = min(bytes.count, Int.random(in: 1...20, using: &random))
                pieces.append(machine.received(Array(bytes.prefix(count))))
                bytes.removeFirst(count)
            }
            // it decides, or it waits for more; and then it is over
            let last = pieces.last ?? .wait
            if last != .wait, !bytes.isEmpty { #expect(Self.kind(machine.received(bytes)) == .malformedResponse) }
        }
    }
}
