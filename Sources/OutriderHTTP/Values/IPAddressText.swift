// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The canonical form of IP addresses (WHATWG URL section 3.5, RFC 5952).
enum IPAddressText {
    // MARK: version 4

    /// Whether the text is an IPv4 address in canonical form.
    @inline(__always)
    static func isPlain(_ written: some Collection<UInt8>) -> Bool {
        guard (7...15).contains(written.count) else { return false }
        var parts = 1
        var value = -1
        for byte in written {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if value == 0 { return false }
                value = max(value, 0) * 10 + Int(byte &- 0x30)
                if value > 255 { return false }
            case UInt8(ascii: "."):
                if value < 0 { return false }
                parts += 1
                value = -1
            default: return false
            }
        }
        return parts == 4 && value >= 0
    }

    /// Whether a domain must be an IPv4 address: its last label is a number.
    static func endsInNumber(_ labels: [Substring]) -> Bool {
        var labels = labels[...]
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard let last = labels.last, !last.isEmpty else { return false }
        return last.utf8.allSatisfy { (0x30...0x39).contains($0) } || number(last) != nil
    }

    /// `0x7f.1` → `127.0.0.1`: up to four parts, each decimal, octal with a leading 0, or hexadecimal with 0x; the last
    /// part fills the remaining bytes.
    static func ipv4(_ labels: [Substring]) throws(HTTPFailure) -> String {
        guard let address = address(labels) else {
            throw .invalidURL("the host ends in a number but is no IPv4 address")
        }
        return dotted(address)
    }

    private static func address(_ labels: [Substring]) -> UInt32? {
        var labels = labels[...]
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard (1...4).contains(labels.count) else { return nil }
        var address: UInt64 = 0
        for (index, label) in labels.enumerated() {
            guard let value = number(label) else { return nil }
            if index == labels.count - 1 {
                let bits = 8 * (5 - labels.count)
                guard value < 1 << bits else { return nil }
                address = address << bits | value
            } else {
                guard value <= 255 else { return nil }
                address = address << 8 | value
            }
        }
        return UInt32(truncatingIfNeeded: address)
    }

    /// A number up to 32 bits; larger ones become 2^32, which no address holds.
    private static func number(_ text: Substring) -> UInt64? {
        var digits = text.utf8
        guard let first = digits.first else { return nil }
        var radix: UInt64 = 10
        if first == 0x30, digits.count > 1 {
            digits = digits.dropFirst()
            radix = 8
            if let mark = digits.first, mark | 0x20 == UInt8(ascii: "x") {
                digits = digits.dropFirst()
                radix = 16
            }
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = PercentEncoding.value(byte), digit < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 32)
        }
        return value
    }

    private static func dotted(_ address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }

    // MARK: version 6

    /// The compressed lower-case form; without brackets.
    static func ipv6(_ text: ArraySlice<UInt8>) throws(HTTPFailure) -> String {
        if text.contains(UInt8(ascii: "%")) {
            throw .invalidURL("zone ids of IPv6 addresses are refused")
        }
        guard let pieces = pieces(String(decoding: text, as: UTF8.self)) else {
            throw .invalidURL("the text in brackets is no IPv6 address")
        }
        return compressed(pieces)
    }

    private static func pieces(_ text: String) -> [UInt16]? {
        let halves = split(text)
        guard halves.count <= 2, let front = sequence(halves[0], isEnd: halves.count == 1) else { return nil }
        guard halves.count == 2 else { return front.count == 8 ? front : nil }
        guard let back = sequence(halves[1], isEnd: true), front.count + back.count <= 7 else { return nil }
        return front + [UInt16](repeating: 0, count: 8 - front.count - back.count) + back
    }

    /// The parts around each `::`; never empty.
    private static func split(_ text: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = text[...]
        while let colon = firstDoubleColon(rest) {
            parts.append(rest[..<colon])
            rest = rest[rest.utf8.index(colon, offsetBy: 2)...]
        }
        return parts + [rest]
    }

    private static func firstDoubleColon(_ text: Substring) -> Substring.Index? {
        var previous: UInt8 = 0
        for index in text.utf8.indices {
            let byte = text.utf8[index]
            if byte == UInt8(ascii: ":"), previous == byte { return text.utf8.index(before: index) }
            previous = byte
        }
        return nil
    }

    /// Groups between single colons; the last group may be an IPv4 address.
    private static func sequence(_ text: Substring, isEnd: Bool) -> [UInt16]? {
        if text.isEmpty { return [] }
        let groups = text.split(separator: ":", omittingEmptySubsequences: false)
        guard groups.count <= 8 else { return nil }
        var pieces: [UInt16] = []
        for (index, group) in groups.enumerated() {
            if isEnd, index == groups.count - 1, group.contains(".") {
                guard let address = embedded(group) else { return nil }
                pieces += [UInt16(truncatingIfNeeded: address >> 16), UInt16(truncatingIfNeeded: address)]
                continue
            }
            guard (1...4).contains(group.utf8.count),
                group.utf8.allSatisfy({ PercentEncoding.value($0) != nil }),
                let piece = UInt16(group, radix: 16)  // safe: of a text this gives nil
            else { return nil }
            pieces.append(piece)
        }
        return pieces
    }

    /// Inside IPv6 only four plain decimal numbers are allowed.
    private static func embedded(_ text: Substring) -> UInt32? {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 4 else { return nil }
        var address: UInt32 = 0
        for label in labels {
            guard (1...3).contains(label.utf8.count), label.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                label.utf8.count == 1 || label.utf8.first != 0x30,
                let part = UInt8(label)  // safe: of a text this gives nil
            else { return nil }
            address = address << 8 | UInt32(truncatingIfNeeded: part)
        }
        return address
    }

    /// The four or sixteen bytes of an address in canonical form; nil for a name.
    static func bytes(of host: String) -> [UInt8]? {
        if host.utf8.contains(UInt8(ascii: ":")) {
            return pieces(host)?.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        }
        guard isPlain(Array(host.utf8)[...]) else { return nil }
        return host.split(separator: ".").compactMap { UInt8($0) }  // safe: of a text this gives nil
    }

    /// The longest run of two or more zero pieces becomes `::`; the first of equal runs.
    private static func compressed(_ pieces: [UInt16]) -> String {
        var best = 0..<0
        var start = 0
        while start < pieces.count {
            var end = start
            while end < pieces.count, pieces[end] == 0 { end += 1 }
            if end - start > max(best.count, 1) { best = start..<end }
            start = max(end, start + 1)
        }
        let text = { (range: Range<Int>) in pieces[range].map { String($0, radix: 16) }.joined(separator: ":") }
        if best.isEmpty { return text(0..<pieces.count) }
        return "\(text(0..<best.lowerBound))::\(text(best.upperBound..<pieces.count))"
    }
}
