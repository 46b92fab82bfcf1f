// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

@testable import OutriderHTTP

// MARK: addresses

/// Writes the URL of a proxy and reads the URL again; compares a list of hosts without a proxy with the single items.
func proxies(_ input: Input) {
    let parts = input.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    if let server = try? ProxyServer(parsing: parts[0]) {
        let written = server.text(withSecrets: true)
        expect((1...65535).contains(server.url.port) && server.url.target == "/", "the address \(server.url)")
        expect(written.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a byte that no URL may hold: \(written)")
        var masked = server
        masked.credential?.password = SecretFields.mask
        // escaping may make a URL longer than a URL may be
        if written.utf8.count <= 4000 {
            expect((try? ProxyServer(parsing: written)) == server, "read again it is another one: \(written)")
            expect((try? ProxyServer(parsing: server.description)) == masked, "shown it is another one: \(server)")
        }
    }
    let last = parts[parts.count - 1]
    let whole = ProxyBypass(listed: last)
    let items = last.utf8.split { $0 == 0x2C || $0 == 0x20 || $0 == 0x09 }.map { String(Substring($0)) }
    guard items.count <= 40 else { return }
    let hosts =
        items.prefix(8).map { $0.drop { "*.[".contains($0) }.prefix { !"]/:".contains($0) } } + ["a.test"]
        + items.prefix(4).compactMap { neighbour(of: $0, input.hash) }
    for host in hosts {
        for text in ["http://\(host)/", "https://b.\(host):8080/"] {
            guard let url = try? HTTPURL(parsing: text) else { continue }
            let covering = items.filter { ProxyBypass(listed: $0).covers(url) }
            expect(whole.covers(url) == !covering.isEmpty, "the list covers \(url) in another way than its items")
            for item in items {
                guard let expected = covers(item[...], url) else { continue }
                expect(covering.contains(item) == expected, "\(item) and \(url)")
            }
        }
    }
}

/// Whether a name or an IPv4 network covers a URL, for items of the plainest form; nil for other items.
private func covers(_ item: Substring, _ url: HTTPURL) -> Bool? {
    let parts = item.split(separator: ":", omittingEmptySubsequences: false)
    if parts.count == 2 {
        guard let port = number(parts[1], digits: 4), port > 0 else { return nil }
        return covers(parts[0], url).map { $0 && url.port == Int(port) }
    }
    guard parts.count == 1 else { return nil }
    let halves = item.split(separator: "/", omittingEmptySubsequences: false)
    if let network = address(halves[0]) {
        guard let bits = halves.count == 1 ? 32 : number(halves[1], digits: 2), halves.count < 3, bits <= 32 else {
            return nil
        }
        // a shift by all 32 bits gives zero
        return address(url.host[...]).map { network >> (32 - bits) == $0 >> (32 - bits) } ?? false
    }
    let isBelow = item.hasPrefix("*.")
    let name = isBelow ? item.dropFirst(2) : item.hasPrefix(".") ? item.dropFirst() : item
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let isPlain = labels.allSatisfy { label in
        !label.isEmpty && label.utf8.count < 64 && label.utf8.allSatisfy { (0x61...0x7A).contains($0) }
    }
    guard isPlain, item.utf8.count < 200 else { return nil }
    let host = (url.host.utf8.last == UInt8(ascii: ".") ? url.host.dropLast() : url.host[...]).split(separator: ".")
    return host.suffix(labels.count).elementsEqual(labels) && host.count >= labels.count + (isBelow ? 1 : 0)
}

/// The address in front of an item with another bit.
private func neighbour(of item: String, _ hash: UInt64) -> Substring? {
    guard let address = address(item.prefix { $0 != "/" && $0 != ":" }) else { return nil }
    let other = address ^ (1 << UInt32(hash >> 40 & 31))
    return (0..<4).map { "\(other >> (24 - 8 * $0) & 255)" }.joined(separator: ".")[...]
}

private func number(_ text: Substring, digits: Int) -> UInt32? {
    (1...digits).contains(text.utf8.count) && text.first != "+" ? UInt32(text) : nil
}

/// The address as the C library reads it, for which a text ends at its first zero.
private func address(_ text: Substring) -> UInt32? {
    var address = in_addr()
    guard !text.utf8.contains(0), inet_pton(AF_INET, String(text), &address) == 1 else { return nil }
    return UInt32(bigEndian: address.s_addr)
}

// MARK: tunnels

private enum Outcome: Equatable {
    case waits
    case open
    case refused(ResponseHead)
    case failed
}

/// The outcome of a handshake, the bytes sent, and the number of bytes taken one by one.
private struct Handshake: Equatable {
    var outcome = Outcome.waits
    var sent: [UInt8] = []
    var taken = 0

    init(_ machine: some TunnelMachine, _ pieces: [[UInt8]]) {
        var machine = machine
        sent = machine.begin()
        for piece in pieces {
            taken += piece.count
            switch machine.received(piece) {
            case .wait: continue
            case .send(let bytes):
                sent += bytes
                continue
            case .open: outcome = .open
            case .refused(let head, _): outcome = .refused(head)
            case .failed: outcome = .failed
            }
            return
        }
    }
}

/// Handshakes of proxies beside RFC 1928, RFC 1929 and RFC 9110 section 9.3.6, read in another way.
func tunnels(_ input: Input) {
    let single = input.bytes.prefix(600).map { [$0] }
    connect(input, single)
    guard let url = try? HTTPURL(parsing: "http://a.test:4660/") else { return expect(false, "a URL without a fault") }
    for user in [nil, UserCredential("me", "secret")] {
        let targets: [(SOCKSMachine.Target, [UInt8])] = [
            (.name("a.test"), [3, 6] + Array("a.test".utf8)), (.address([10, 0, 0, 1]), [1, 10, 0, 0, 1]),
        ]
        for (target, address) in targets {
            let machine = SOCKSMachine(to: url, at: target, credential: user)
            let (outcome, taken, sent) = socks(Array(input.bytes.prefix(600)), user, address)
            let found = Handshake(machine, single)
            expect(found.outcome == outcome, "SOCKS: \(found), and not \(outcome)")
            if outcome == .open {
                expect(found.taken == taken, "\(taken) bytes open the tunnel, and not \(found.taken)")
            }
            if outcome != .failed { expect(found.sent == sent, "SOCKS: sent is \(found.sent), and not \(sent)") }
            // a proxy that speaks out of turn is refused: no byte of an origin is lost
            let whole = Handshake(machine, [input.bytes])
            expect(whole.outcome != .open, "SOCKS: open before the request")
        }
    }
}

private func connect(_ input: Input, _ single: [[UInt8]]) {
    guard let url = try? HTTPURL(parsing: "https://a.test/") else { return }
    let machine = ConnectMachine(to: url, userAgent: input.text, authorization: nil)
    let (whole, pieces) = (Handshake(machine, [input.bytes]), Handshake(machine, input.pieces))
    // bytes in one piece with the head of an open tunnel, and behind the head, are a fault
    if whole.outcome != .failed {
        expect(whole.outcome == pieces.outcome, "CONNECT: \(whole) and \(pieces)")
    }
    let lines = whole.sent.split(separator: 0x0A, omittingEmptySubsequences: false)
    expect(
        lines.first.map(Array.init) == Array("CONNECT a.test:443 HTTP/1.1\r".utf8),
        "another request: \(whole.sent.shown)")
    let isAgent = lines.count == 5 && lines[2].starts(with: "User-Agent: ".utf8)
    expect(lines.count == 4 || isAgent, "further lines: \(whole.sent.shown)")
    let found = Handshake(machine, single)
    if let plain = input.bytes.withUnsafeBytes({ PlainHead($0) }), plain.head.status / 100 == 2, plain.bytes <= 600 {
        expect(found.outcome == .open && found.taken == plain.bytes, "not open: \(found)")
    }
    guard found.outcome != .waits, found.outcome != .failed else { return }
    var statuses: [Int] = []
    var rest = input.bytes[..<found.taken]
    while let end = rest.indices.first(where: { endsHead(rest[...$0]) }) {
        statuses.append(Int(String(decoding: rest.dropFirst(9).prefix(3), as: UTF8.self)) ?? 0)
        rest = rest[(end + 1)...]
        if let status = statuses.last, status >= 200 { break }
    }
    expect(statuses.dropLast().allSatisfy { $0 < 200 && $0 != 101 }, "it goes on behind \(statuses)")
    switch found.outcome {
    case .open: expect(statuses.last.map { $0 / 100 == 2 } == true && rest.isEmpty, "open by \(statuses)")
    case .refused(let head): expect(statuses.last == head.status && head.status >= 300, "\(head) of \(statuses)")
    default: break
    }
}

/// Whether an empty line ends the bytes.
private func endsHead(_ bytes: ArraySlice<UInt8>) -> Bool {
    let ends: [[UInt8]] = [[0x0A, 0x0A], [0x0A, 0x0D, 0x0A]]
    return ends.contains { bytes.suffix($0.count).elementsEqual($0) }
}

/// The three replies of a proxy, by the fields of RFC 1928 and RFC 1929.
private func socks(_ bytes: [UInt8], _ user: UserCredential?, _ address: [UInt8]) -> (Outcome, Int, [UInt8]) {
    var sent: [UInt8] = user == nil ? [5, 1, 0] : [5, 2, 0, 2]
    let request: [UInt8] = [5, 1, 0] + address + [0x12, 0x34]
    guard let first = bytes.first else { return (.waits, 0, sent) }
    guard first == 5 else { return (.failed, 1, sent) }
    guard bytes.count >= 2 else { return (.waits, 0, sent) }
    var used = 2
    switch (bytes[1], user) {
    case (0, _): sent += request
    case (2, let user?):
        sent += [1, UInt8(user.username.utf8.count)] + Array(user.username.utf8)
        sent += [UInt8(user.password.utf8.count)] + Array(user.password.utf8)
        guard bytes.count >= 4 else { return (.waits, 0, sent) }
        guard bytes[3] == 0 else { return (.failed, 4, sent) }
        sent += request
        used = 4
    default: return (.failed, 2, sent)
    }
    let reply = Array(bytes[used...])
    guard reply.count >= 2 else { return (.waits, 0, sent) }
    guard reply[0] == 5, reply[1] == 0 else { return (.failed, used + 2, sent) }
    guard reply.count >= 5 else { return (.waits, 0, sent) }
    guard let length = [1: 10, 3: 7 + Int(reply[4]), 4: 22][reply[3]] else { return (.failed, used + 5, sent) }
    return reply.count >= length ? (.open, used + length, sent) : (.waits, 0, sent)
}
