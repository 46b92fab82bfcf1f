// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// RFC 1928 and RFC 1929, byte by byte.
@Suite struct SOCKSMachineTests {
    private static let ada = UserCredential("ada", "pass:wörd")

    private static func machine(_ url: String = "http://h.test:8080/", _ credential: UserCredential? = nil) throws
        -> SOCKSMachine
    {
        SOCKSMachine(to: try HTTPURL(parsing: url), credential: credential)
    }

    private static let done: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80]

    private static func kind(_ step: TunnelStep) -> HTTPFailure.Kind? {
        if case .failed(let kind, _) = step { kind } else { nil }
    }

    private static let places: [(String, [UInt8])] = [
        ("http://h.test:8080/", [3, 6] + Array("h.test".utf8) + [0x1F, 0x90]),
        ("http://h.test./", [3, 6] + Array("h.test".utf8) + [0, 80]),
        ("https://10.0.0.1/", [1, 10, 0, 0, 1, 1, 0xBB]),
        ("http://[::1]/", [4] + [UInt8](repeating: 0, count: 15) + [1, 0, 80]),
    ]

    @Test(arguments: places)
    func `it names the place as a name or an address [AD8]`(url: String, place: [UInt8]) throws {
        var machine = try Self.machine(url)
        #expect(machine.begin() == [5, 1, 0])
        #expect(machine.received([5, 0]) == .send([5, 1, 0] + place))
        #expect(machine.received(Self.done) == .open)
        #expect(Self.kind(machine.received([0])) == .malformedResponse)
    }

    private static let replies: [[UInt8]] = [
        [5, 0, 0, 1, 1, 2, 3, 4, 0, 80], [5, 0, 0, 3, 2, 0x68, 0x69, 0, 80], [5, 0, 0, 3, 0, 0, 80],
        [5, 0, 0, 4] + [UInt8](repeating: 9, count: 18),
    ]

    @Test(arguments: replies)
    func `its reply ends where its address does`(reply: [UInt8]) throws {
        var machine = try Self.machine()
        _ = machine.begin()
        _ = machine.received([5])
        _ = machine.received([0])
        for byte in reply.dropLast() { #expect(machine.received([byte]) == .wait) }
        #expect(machine.received([reply.last ?? 0]) == .open)
        var hasty = try Self.machine()
        _ = hasty.received([5, 0])
        #expect(Self.kind(hasty.received(reply + [1])) == .malformedResponse)
        // unless the peer may speak first
        let url = try HTTPURL(parsing: "http://h.test:22/")
        var patient = SOCKSMachine(to: url, credential: nil, peerMaySpeakFirst: true)
        _ = patient.received([5, 0])
        #expect(patient.received(reply + [1, 2]) == .open)
        #expect(patient.early == [1, 2])
    }

    @Test func `the user is named if the proxy wants to know`() throws {
        var machine = try Self.machine("http://h/", Self.ada)
        #expect(machine.begin() == [5, 2, 0, 2])
        #expect(machine.received([5, 2]) == .send([1, 3] + Array("ada".utf8) + [10] + Array("pass:wörd".utf8)))
        #expect(machine.received([1]) == .wait)
        #expect(machine.received([0]) == .send([5, 1, 0, 3, 1, 0x68, 0, 80]))
        #expect(machine.received(Self.done) == .open)
        // and not where it does not
        var open = try Self.machine("http://h/", Self.ada)
        #expect(open.received([5, 0]) == .send([5, 1, 0, 3, 1, 0x68, 0, 80]))
    }

    @Test func `a password that is not believed is not said twice`() throws {
        var machine = try Self.machine("http://h/", Self.ada)
        _ = machine.received([5, 2])
        #expect(Self.kind(machine.received([1, 1])) == .proxyAuthenticationRequired)
        for reply: [UInt8] in [[5, 2], [5, 255], [5, 1]] {
            var nobody = try Self.machine()
            #expect(Self.kind(nobody.received(reply)) == .proxyAuthenticationRequired)
        }
    }

    @Test(
        arguments: [([5, 2], "give a user"), ([5, 255], "give a user"), ([0x48, 0x54], "http://")]
            as [([UInt8], String)])
    func `a failure names its remedy`(reply: [UInt8], remedy: String) throws {
        var machine = try Self.machine()
        guard case .failed(_, let words) = machine.received(reply) else {
            Issue.record("no failure")
            return
        }
        #expect(words.contains(remedy))
    }

    @Test func `each code of a refusal is put into words of its own`() throws {
        var said: Set<String> = []
        for code in UInt8(1)...9 {
            var machine = try Self.machine()
            _ = machine.received([5, 0])
            guard case .failed(.proxyRefused, let words) = machine.received([5, code]) else {
                Issue.record("\(code) was no refusal")
                continue
            }
            #expect(words.contains("h.test:8080"))
            said.insert(words)
            // an origin that cannot be reached now may be reached later
            #expect(machine.mayPass == [1, 3, 4, 5, 6].contains(code))
        }
        #expect(said.count == 9)
    }

    @Test(arguments: [[4, 90], [0x48, 0x54], [0], [5, 0, 5]] as [[UInt8]])
    func `what is not SOCKS 5 is said to be none`(reply: [UInt8]) throws {
        var machine = try Self.machine()
        #expect(Self.kind(machine.received(reply)) == .malformedResponse)
    }

    @Test func `no bytes stop us`() throws {
        var random = SeededRandom(seed: 1929)
        for _ in 0..<20_000 {
            var machine = try Self.machine("http://h/", Bool.random(using: &random) ? Self.ada : nil)
            for _ in 0..<8 {
                let small = UInt8.random(in: 0...5, using: &random)
                _ = machine.received((0..<Int.random(in: 0...12, using: &random)).map { _ in small })
            }
        }
    }
}
