// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The hosts that a table entry covers.
///
///     api.example.com      that host
///     *.example.com        a single label below; neither the domain itself nor two labels
///     **.example.com       all hosts below, but not the domain itself
///     *                    every host
///     api.example.com:8443 each of these for a single port; IPv6 addresses in brackets
package struct HostPattern: Sendable, Hashable, Comparable {
    private enum Place: Sendable, Hashable {
        case host(String)
        case label(below: String)
        case all(below: String)
        case everywhere
    }

    private let place: Place
    private let port: Int?
    /// As written.
    package private(set) var text: String

    /// Nil if the text is no pattern.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 300 else { return nil }
        self.text = text
        let (host, port) = Self.split(text)
        if port == .some(nil) { return nil }
        self.port = port ?? nil
        if host == "*" {
            place = .everywhere
            return
        }
        let stars = host.prefix { $0 == "*" }.count
        let isBelow = host.dropFirst(stars).utf8.first == UInt8(ascii: ".")
        guard stars <= 2, isBelow == (stars > 0), let name = Self.name(host.dropFirst(stars)) else { return nil }
        switch stars {
        case 0: place = .host(name)
        case 1: place = .label(below: name)
        default: place = .all(below: name)
        }
    }

    /// Host and port; the port is `.some(nil)` where the text behind the colon is none.
    private static func split(_ text: String) -> (Substring, Int??) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return (text[...], nil) }
        let host = text[..<colon]
        if host.utf8.contains(UInt8(ascii: ":")), host.utf8.last != UInt8(ascii: "]") { return (text[...], nil) }
        let number = FieldRules.decimal(text[text.utf8.index(after: colon)...]).flatMap { Int(exactly: $0) }
        return (host, .some(number.flatMap { (1...65535).contains($0) ? $0 : nil }))
    }

    /// The canonical form of a host, or of the part behind the stars with its dot; nil if invalid.
    private static func name(_ text: Substring) -> String? {
        if text.utf8.first == UInt8(ascii: ".") {
            return name(text.dropFirst()).flatMap { $0.utf8.contains(UInt8(ascii: ":")) ? nil : "." + $0 }
        }
        return ConnectTarget.canonical(text).map(plain)
    }

    /// The canonical form of a host name or an address, without the dot at the end; nil if the text is neither.
    package static func host(_ text: String) -> String? { ConnectTarget.canonical(text[...]).map(plain) }

    /// Without the dot at the end.
    static func plain(_ host: String) -> String { host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host }

    /// Without the text: equal for all ways to write the pattern.
    package var unwritten: HostPattern {
        var pattern = self
        pattern.text = ""
        return pattern
    }

    package func covers(host: String, port: Int) -> Bool {
        if let own = self.port, own != port { return false }
        let host = Self.plain(host)
        switch place {
        case .everywhere: return true
        case .host(let name): return host == name
        case .all(let suffix): return host.utf8.count > suffix.utf8.count && host.hasSuffix(suffix)
        case .label(let suffix):
            guard host.utf8.count > suffix.utf8.count, host.hasSuffix(suffix) else { return false }
            return !host.utf8.dropLast(suffix.utf8.count).contains(UInt8(ascii: "."))
        }
    }

    /// The more specific pattern is greater: with a port, exact, the longest `*.`, the longest `**.`, `*`.
    package static func < (one: HostPattern, other: HostPattern) -> Bool { one.rank < other.rank }

    private var rank: (Int, Int, Int) {
        let ported = port == nil ? 0 : 1
        return switch place {
        case .everywhere: (ported, 0, 0)
        case .all(let suffix): (ported, 1, suffix.utf8.count)
        case .label(let suffix): (ported, 2, suffix.utf8.count)
        case .host: (ported, 3, 0)
        }
    }
}

/// Values by host; the most specific pattern wins.
package struct HostTable<Value: Sendable & Hashable>: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        var pattern: HostPattern
        var value: Value
    }

    /// The most specific pattern is first.
    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var list: [(pattern: HostPattern, value: Value)] { entries.map { ($0.pattern, $0.value) } }

    package init(_ list: [(HostPattern, Value)]) {
        entries = list.map { Entry(pattern: $0.0, value: $0.1) }.sorted { $0.pattern > $1.pattern }
    }

    package func value(host: String, port: Int) -> Value? {
        entries.first { $0.pattern.covers(host: host, port: port) }?.value
    }

    package func map<Other>(_ change: (Value) -> Other) -> HostTable<Other> {
        HostTable<Other>(entries.map { ($0.pattern, change($0.value)) })
    }
}
