// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Hosts reached without a proxy, in the syntax of NO_PROXY, as in curl.
///
///     example.org         that host, and all below; the same with a dot in front
///     *.example.org       all hosts below, but not example.org
///     10.0.0.0/8, ::1     addresses and networks; only where the URL holds an address
///     example.org:8080    each of these for a single port; IPv6 addresses in brackets then
///     *                   everywhere
package struct ProxyBypass: Sendable, Equatable {
    private enum Place: Sendable, Equatable {
        case everywhere
        case name(String, itself: Bool)
        case network([UInt8], bits: Int)
    }

    private struct Rule: Sendable, Equatable {
        var place: Place
        /// Nil for all.
        var port: Int?

        func covers(_ url: HTTPURL, _ address: [UInt8]?) -> Bool {
            if let port, port != url.port { return false }
            switch place {
            case .everywhere: return true
            case .name(let name, let itself):
                let host = url.hostName
                return host == name ? itself : host.hasSuffix(".\(name)")
            case .network(let network, let bits): return address.map { Self.agree($0, network, bits) } ?? false
            }
        }

        private static func agree(_ one: [UInt8], _ other: [UInt8], _ bits: Int) -> Bool {
            guard one.count == other.count else { return false }
            for index in one.indices {
                let left = min(max(bits - index * 8, 0), 8)
                let mask: UInt8 = left == 0 ? 0 : 0xFF << UInt8(8 &- left)
                if (one[index] ^ other[index]) & mask != 0 { return false }
            }
            return true
        }
    }

    /// As they were written.
    package private(set) var texts: [String] = []
    private var rules: [Rule] = []

    package init() {}

    /// Adds a rule; false if malformed.
    package mutating func add(_ text: String) -> Bool {
        guard let rule = Self.rule(text) else { return false }
        texts.append(text)
        rules.append(rule)
        return true
    }

    /// Reads the value of NO_PROXY: items separated by commas, spaces or both; malformed items are skipped, as in curl.
    package init(listed text: String) {
        for item in text.utf8.split(whereSeparator: { $0 == 0x2C || $0 == 0x20 || $0 == 0x09 }) {
            _ = add(String(Substring(item)))
        }
    }

    package func covers(_ url: HTTPURL) -> Bool {
        guard !rules.isEmpty else { return false }
        let address = IPAddressText.bytes(of: url.host)
        return rules.contains { $0.covers(url, address) }
    }

    private static func rule(_ text: String) -> Rule? {
        if text == "*" { return Rule(place: .everywhere) }
        guard !text.isEmpty, text.utf8.count <= 300 else { return nil }
        if let place = place(text[...]) { return Rule(place: place) }
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = FieldRules.decimal(text[text.utf8.index(after: colon)...]), (1...65535).contains(port)
        else { return nil }
        let host = text[..<colon]
        // without brackets, the port could be a part of the IPv6 address
        if host.utf8.contains(UInt8(ascii: ":")), host.utf8.first != UInt8(ascii: "[") { return nil }
        return place(host).map { Rule(place: $0, port: Int(clamping: port)) }
    }

    private static func place(_ text: Substring) -> Place? {
        if let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) {
            guard let network = bytes(text[..<slash]),
                let bits = FieldRules.decimal(text[text.utf8.index(after: slash)...]),
                bits <= Int64(network.count * 8)
            else { return nil }
            return .network(network, bits: Int(clamping: bits))
        }
        if let address = bytes(text) { return .network(address, bits: address.count * 8) }
        var name = text
        var itself = true
        if name.hasPrefix("*.") {
            itself = false
            name = name.dropFirst(2)
        } else if name.hasPrefix(".") {
            name = name.dropFirst()
        }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard !name.isEmpty, let host = try? HostName.canonical(Array(name.utf8)[...]) else { return nil }
        return .name(host, itself: itself)
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        if text.utf8.contains(UInt8(ascii: ":")) {
            return (try? IPAddressText.ipv6(Array(text.utf8)[...])).flatMap(IPAddressText.bytes)
        }
        return IPAddressText.bytes(of: String(text))
    }
}
