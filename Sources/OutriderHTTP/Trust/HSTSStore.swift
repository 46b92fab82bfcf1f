// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Hosts with strict transport security (RFC 6797).
package struct HSTSStore: Sendable {
    package struct Entry: Sendable, Equatable {
        /// Seconds since 1970.
        package var expires: Int64
        package var includesSubdomains: Bool
    }

    /// The most remembered hosts.
    package static let mostHosts = 10_000
    /// Of `max-age`, in seconds: ten years.
    private static let longest: Int64 = 315_360_000

    package private(set) var entries: [String: Entry] = [:]

    package init() {}

    /// Takes a Strict-Transport-Security field of a verified response. True if the store has changed.
    ///
    /// - Parameter now: seconds since 1970.
    package mutating func learn(_ field: String, from url: HTTPURL, now: Int64) -> Bool {
        guard url.isSecure, Self.mayHold(url.host), let (age, includesSubdomains) = Self.parse(field) else {
            return false
        }
        let host = HostPattern.plain(url.host)
        guard age > 0 else { return entries.removeValue(forKey: host) != nil }
        if entries[host] == nil, entries.count >= Self.mostHosts {
            entries = entries.filter { $0.value.expires > now }
            if entries.count >= Self.mostHosts { return false }
        }
        let entry = Entry(expires: now + age, includesSubdomains: includesSubdomains)
        if let known = entries[host], known.includesSubdomains == entry.includesSubdomains,
            entry.expires - known.expires < Self.grain, entry.expires >= known.expires
        {
            return false
        }
        entries[host] = entry
        return true
    }

    /// A host that repeats its field with each response changes the store at most once in so many seconds.
    private static let grain: Int64 = 3600

    /// The https URL, or the wss URL for ws, with the matching port; nil if the host has no HSTS entry.
    package func upgraded(_ url: HTTPURL, now: Int64) -> HTTPURL? {
        guard url.scheme == .http || url.scheme == .ws, url.socketPath == nil, !entries.isEmpty,
            covers(HostPattern.plain(url.host), now)
        else { return nil }
        var secure = url
        secure.scheme = url.scheme == .ws ? .wss : .https
        if url.port == 80 { secure.port = 443 }
        return secure
    }

    private func covers(_ host: String, _ now: Int64) -> Bool {
        if let entry = entries[host], entry.expires > now { return true }
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let entry = entries[String(rest)], entry.includesSubdomains, entry.expires > now { return true }
        }
        return false
    }

    /// Neither addresses nor names of this machine.
    private static func mayHold(_ host: String) -> Bool {
        let name = HostPattern.plain(host)
        // longer names are none (RFC 1035 section 2.3.4), and the file stays below the limit of reading
        if name.utf8.count > 253 { return false }
        if name == "localhost" || name.hasSuffix(".localhost") || name.utf8.contains(UInt8(ascii: ":")) { return false }
        return name.utf8.contains { !($0 >= 0x30 && $0 <= 0x39) && $0 != UInt8(ascii: ".") }
    }

    /// `max-age` and `includeSubDomains`; nil if the field must be ignored (RFC 6797 section 6.1).
    private static func parse(_ field: String) -> (Int64, Bool)? {
        var age: Int64?
        var includesSubdomains = false
        var seen: Set<String> = []
        for part in directives(of: field) {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = FieldRules.trimmed(words[0]).lowercased()
            if name.isEmpty { continue }
            guard seen.insert(name).inserted, seen.count <= 32 else { return nil }
            switch name {
            case "max-age":
                var value = words.count > 1 ? FieldRules.trimmed(words[1]) : ""
                if value.hasPrefix("\""), value.hasSuffix("\""), value.utf8.count >= 2 {
                    value = value.dropFirst().dropLast()
                }
                guard !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
                age = min(Int64(value) ?? longest, longest)
            case "includesubdomains":
                if words.count > 1 { return nil }
                includesSubdomains = true
            default: continue
            }
        }
        return age.map { ($0, includesSubdomains) }
    }

    /// The parts between semicolons that stand in no quoted string.
    private static func directives(of field: String) -> [Substring] {
        let bytes = field.utf8
        var parts: [Substring] = []
        var (start, isQuoted, isEscaped) = (bytes.startIndex, false, false)
        for index in bytes.indices {
            let byte = bytes[index]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = isQuoted
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append(Substring(bytes[start..<index]))
                start = bytes.index(after: index)
            }
        }
        return parts + [Substring(bytes[start...])]
    }

    // MARK: files

    /// In the form of curl: a line `.example.com "20270101 00:00:00"` for each host; the dot includes subdomains.
    package init(parsing text: String) {
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard entries.count < Self.mostHosts else { return }
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2, let name = HostPattern.host(String(words[0].drop { $0 == "." })),
                Self.mayHold(name)
            else { continue }
            let moment = words[1].filter { $0 != "\"" }
            guard let expires = moment.hasPrefix("unlimited") ? Int64.max : Self.seconds(moment) else { continue }
            entries[name] = Entry(expires: expires, includesSubdomains: words[0].hasPrefix("."))
        }
    }

    package func text(now: Int64) -> String {
        let lines = entries.filter { $0.value.expires > now }.sorted { $0.key < $1.key }.map { host, entry in
            let moment = entry.expires == .max ? "unlimited" : Self.moment(entry.expires)
            return "\(entry.includesSubdomains ? "." : "")\(host) \"\(moment)\"\n"
        }
        return "# Hosts that are reached over TLS only (RFC 6797), in the form of curl.\n" + lines.joined()
    }

    /// `20270101 00:00:00`.
    private static func seconds(_ text: String) -> Int64? {
        let digits = text.utf8.filter { (0x30...0x39).contains($0) }
        guard digits.count == 14 else { return nil }
        return DERTime.seconds(digits, isLong: true)
    }

    private static func moment(_ seconds: Int64) -> String {
        // seconds of property lists begin with the year 2001
        let text = PropertyListDate.text(Double(seconds - 978_307_200)) ?? "99991231T23:59:59Z"
        return text.replacing("-", with: "").replacing("T", with: " ").replacing("Z", with: "")
    }
}
