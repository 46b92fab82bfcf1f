// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto

/// 128 bits of a keyed hash: what stands in a store for a key, a principal or the fields that Vary names.
package struct CacheDigest: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// For "no principal" and "no Vary".
    package static let empty = CacheDigest(high: 0, low: 0)

    package var bytes: [UInt8] {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
    }

    /// Nil unless there are 16 bytes.
    package init?(bytes: [UInt8]) {
        guard let digest = bytes.withUnsafeBytes({ CacheDigest(raw: $0) }) else { return nil }
        self = digest
    }

    /// The same, of bytes in place.
    package init?(raw bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}

/// The random secret of one store. Digests made with it say nothing to a reader of the store.
package struct CacheSecret: Sendable {
    /// Has taken the secret: the hash of a text begins with a copy.
    private let start: HMAC<SHA256>

    package init(_ bytes: [UInt8]) { start = HMAC(key: SymmetricKey(data: bytes)) }

    /// HMAC-SHA-256, shortened. Empty text has the empty digest.
    package func digest(_ text: String) -> CacheDigest {
        guard !text.isEmpty else { return .empty }
        var hash = start
        var text = text
        text.withUTF8 { hash.update(data: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes { code in
            func word(_ bytes: Range<Int>) -> UInt64 { code[bytes].reduce(0) { $0 << 8 | UInt64($1) } }
            return CacheDigest(high: word(0..<8), low: word(8..<16))
        }
    }
}

/// The names of the request fields that select a response (RFC 9110 section 12.5.5).
package enum VaryNames: Sendable, Equatable {
    /// `*`, or too many names: no request selects the response.
    case all
    /// In lower case, sorted, each once.
    case names([String])

    private static let mostNames = 16

    package init(_ fields: HTTPFields) {
        var names: Set<String> = []
        for line in fields.all("Vary") {
            for name in FieldRules.listed(line) { names.insert(name.lowercased()) }
        }
        self = names.contains("*") || names.count > Self.mostNames ? .all : .names(names.sorted())
    }
}

/// What a stored response is found by.
package enum CacheKey {
    /// The most bytes of a key; a longer one is not stored.
    package static let mostBytes = 8 << 10

    /// The URL without fragment, and without the ignored parameters of the query.
    package static func text(_ url: HTTPURL, ignoring names: [String] = []) -> String {
        guard !names.isEmpty, let mark = url.target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            return url.description
        }
        let query = url.target[url.target.utf8.index(after: mark)...]
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix { $0 != "=" }
            return !names.contains(String(decoding: PercentEncoding.decode(name.utf8), as: UTF8.self))
        }
        var url = url
        url.target = String(url.target[..<mark]) + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
        return url.description
    }

    /// The values of the named fields of a request, brought into one form: lines joined, no space around commas,
    /// Accept-Language as a set of lower-case ranges.
    ///
    /// - Parameter coding: the Accept-Encoding that the service itself sends, which selects nothing.
    package static func variant(_ names: [String], of fields: HTTPFields, coding: String? = nil) -> String {
        var text = ""
        for name in names {
            let lines = fields.all(name)
            if lines.isEmpty { continue }
            if name == "accept-encoding", lines == [coding] { continue }
            var members = lines.flatMap { FieldRules.listed($0) }
            if name == "accept-language" { members = Set(members.map(languageRange)).sorted() }
            text += "\(name):\(members.joined(separator: ","))\n"
        }
        return text
    }

    /// The part of a principal for fields that count by the caller's settings, whatever Vary says; empty without names.
    package static func owner(_ names: [String], of fields: HTTPFields) -> String {
        names.isEmpty ? "" : "vary\n" + variant(names.map { $0.lowercased() }.sorted(), of: fields)
    }

    private static func languageRange(_ member: String) -> String {
        let parts = member.lowercased().split(separator: ";").map { FieldRules.trimmed($0) }
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map(plainWeight)
        guard let range = parts.first, let weight, weight != "q=1" else { return String(parts.first ?? "") }
        return "\(range);\(weight)"
    }

    /// The weight without zeros at the end of its fraction (RFC 9110 section 12.4.2).
    private static func plainWeight(_ weight: Substring) -> Substring {
        guard weight.utf8.contains(UInt8(ascii: ".")) else { return weight }
        var bytes = weight.utf8
        while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        return Substring(bytes)
    }
}

/// Whose responses a request may be given: the text from which the principal of an entry is made.
package enum CachePrincipal {
    /// Everything that decides which server sends the response, and whether it is trusted: responses of lenient requests never
    /// reach strict ones.
    private static func connection(_ attempt: Attempt, _ own: ProxyRules?) -> String {
        var text = ""
        if attempt.proxies != own {
            let proxy = attempt.proxy
            if proxy != own?.server(for: attempt.url) {
                text += "proxy:\(proxy?.text(withSecrets: true) ?? "none")\n"
            }
        }
        if attempt.addresses != .any { text += "addresses:\(attempt.addresses)\n" }
        if attempt.security.isPlain { return text }
        if let security = try? attempt.security.security(for: attempt.url), security != .standard {
            text += "trust:\(security.policy) \(security.settings)\n"
            // a server that a client's code trusts is not trusted by another client's
            if let client = security.policy.client { text += "client:\(client)\n" }
        }
        if let target = attempt.security.target(for: attempt.url) { text += "connectTo:\(target.description)\n" }
        return text
    }

    /// What stands for fields that change from request to request though the user does not.
    package struct Stable: Sendable {
        /// In place of the Authorization field; nil for the field itself.
        package var login: String?
        /// The name of the stored credential behind `login`, if there is one.
        package var credential: String?
        /// In place of the Cookie field; nil for the field itself.
        package var jar: String?
        /// The state of the client certificate's file; nil without a client certificate.
        package var certificate: String?

        package init(
            login: String? = nil, credential: String? = nil, jar: String? = nil, certificate: String? = nil
        ) {
            (self.login, self.credential, self.jar, self.certificate) = (login, credential, jar, certificate)
        }

        /// With whose end the responses end, too: `oauth:NAME` and `jar:NAME`.
        package var owners: [String] {
            if credential == nil, jar == nil { return [] }
            // the text of a jar begins with `jar:NAME:`
            let jars = jar.map { $0.split(separator: ":", maxSplits: 2).prefix(2).joined(separator: ":") }
            return [credential.map { "oauth:\($0)" }, jars].compactMap(\.self)
        }
    }

    /// - Parameters:
    ///   - named: the caller's own word in place of all credentials.
    ///   - proxies: those that the service uses by itself.
    package static func text(
        _ attempt: Attempt, _ stable: Stable, named: String?, proxies: ProxyRules? = nil
    ) -> String {
        connection(attempt, proxies) + credentials(attempt, stable, named: named)
    }

    /// The same, of the part that names the user.
    package static func text(_ attempt: Attempt, credentials: String, proxies: ProxyRules?) -> String {
        connection(attempt, proxies) + credentials
    }

    /// The caller's own word in place of all credentials.
    package static func text(named name: String) -> String { "named:\(name)\n" }

    /// The part that names the user; empty for a request that every user may send.
    package static func credentials(_ attempt: Attempt, _ stable: Stable, named: String?) -> String {
        if let named { return text(named: named) }
        var text = ""
        if let login = stable.login { text += "login:\(login)\n" }
        if let jar = stable.jar { text += "\(jar)\n" }
        for field in attempt.fields.list where !CacheQuery.isNeutral(field.name) && SecretFields.contains(field.name) {
            if stable.login != nil, HTTPFields.same(field.name, "Authorization") { continue }
            if stable.jar != nil, HTTPFields.same(field.name, "Cookie") { continue }
            // a proof names no user, and is another for each request (RFC 9449)
            if HTTPFields.same(field.name, "DPoP") { continue }
            text += "\(field.name.lowercased()):\(field.value)\n"
        }
        return text
    }
}
