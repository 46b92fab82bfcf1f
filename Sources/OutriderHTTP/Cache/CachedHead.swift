// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The head of a stored response, with what a hit needs of it already read.
package struct CachedHead: Sendable, Equatable {
    package let status: Int
    package let reason: String
    package let version: String
    package let fields: HTTPFields
    /// Milliseconds since 1970.
    package let requestedAt: Int64
    package let respondedAt: Int64
    package let freshness: Freshness
    /// The lifetime that the cache gives to a response that names none, in seconds.
    package let fallback: Int64?
    /// Which part of a body is stored; nil for the whole body.
    package let part: StoredPart?
    /// The reports of caches between the origin and this one.
    package let upstream: [CacheStatus]
    /// The fields without Age.
    private let ageless: HTTPFields
    /// A response to HEAD has shown that the stored one is no longer current.
    package var isOutdated = false

    /// - Parameter fallback: the lifetime of a response that names none, in seconds.
    package init(
        status: Int, reason: String, version: String, _ fields: HTTPFields, requestedAt: Int64, respondedAt: Int64,
        fallback: Int64? = nil
    ) {
        self.status = status
        self.reason = reason
        self.version = version
        self.fields = fields
        self.requestedAt = requestedAt
        self.respondedAt = respondedAt
        self.fallback = fallback
        part = status == 206 ? StoredPart(fields) : nil
        upstream = CacheStatus.parse(fields)
        var ageless = fields
        if fields.contains("Age") { ageless.remove("Age") }
        // stored by an earlier version
        if fields.contains("Authentication-Info") { ageless.remove("Authentication-Info") }
        self.ageless = ageless
        freshness = Freshness(
            status: status, fields, requestedAt: requestedAt, respondedAt: respondedAt, fallback: fallback)
    }

    package func isFresh(at now: Int64) -> Bool { !isOutdated && freshness.isFresh(at: now) }

    /// Whether the response may be used without the server: fresh, and without no-cache (RFC 9111 section 5.2.2.4).
    package func needsNoServer(at now: Int64) -> Bool { isFresh(at: now) && !freshness.control.isNoCache }

    package var etag: String? { fields.first("ETag") }

    /// The fields with which a server is asked whether the response is current, with the bytes of its validators.
    package var conditions: HTTPFields {
        var conditions: HTTPFields = []
        for (name, validator) in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")] {
            if let value = fields.texts(validator).first { conditions.list.append(.init(name, value)) }
        }
        return conditions
    }

    package var hasValidator: Bool { etag != nil || fields.contains("Last-Modified") }

    /// The fields as a hit shows them: with an Age of its own (RFC 9111 section 5.1).
    package func shown(at now: Int64) -> HTTPFields {
        var shown = ageless
        shown.add("Age", String(freshness.age(at: now)))
        return shown
    }

    /// What is stored of the fields of a response: all but those of the connection (RFC 9111 section 3.1), and those of the
    /// request that got it.
    ///
    /// - Parameter withCookies: the cache is that of a single session, which may see its cookies again.
    package static func kept(of fields: HTTPFields, withCookies: Bool = false) -> HTTPFields {
        let named = fields.all("Connection").flatMap { FieldRules.listed($0) }
        let personalFields = withCookies ? proofFields : personalFields
        return HTTPFields(
            fields.list.filter { field in
                !connectionFields.contains { HTTPFields.same($0, field.name) }
                    && !personalFields.contains { HTTPFields.same($0, field.name) }
                    && !named.contains { HTTPFields.same($0, field.name) }
            })
    }

    private static let connectionFields = [
        "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade", "Trailer",
        "Proxy-Authenticate", "Proxy-Authorization",
    ]

    /// What is for the very request that got the response: cookies, and proofs that answer its credentials.
    package static let personalFields = cookieFields + proofFields
    package static let cookieFields = ["Set-Cookie", "Set-Cookie2"]
    private static let proofFields = ["Authentication-Info", "Proxy-Authentication-Info"]

    /// What a 304 never changes: these describe the stored, decoded body (RFC 9111 section 3.2).
    private static let bodyFields = ["Content-Length", "Content-Encoding", "Content-Range"]

    /// The head after a 304, or after a HEAD that agrees (RFC 9111 sections 4.3.4, 4.3.5).
    ///
    /// - Parameter withCookies: as of `kept`.
    package func updated(
        by fields: HTTPFields, requestedAt: Int64, respondedAt: Int64, fallback: Int64? = nil,
        withCookies: Bool = false
    ) -> CachedHead {
        let news = Self.kept(of: fields, withCookies: withCookies).list.filter { field in
            !Self.bodyFields.contains { HTTPFields.same($0, field.name) } && !isStronger(field)
        }
        var merged = self.fields
        // the stored age belongs to the stored date
        merged.remove("Age")
        for field in news { merged.remove(field.name) }
        merged.list += news
        // without a Date, the news is from the moment of its arrival (RFC 9110 section 6.6.1): the stored Date is older
        if !news.contains(where: { HTTPFields.same($0.name, "Date") }) {
            merged.remove("Date")
            if let date = HTTPDate.format(respondedAt / 1000) { merged.add("Date", date) }
        }
        return CachedHead(
            status: status, reason: reason, version: version, merged, requestedAt: requestedAt,
            respondedAt: respondedAt, fallback: fallback)
    }

    /// Whether a 304 names a validator that the stored response has.
    package func isConfirmed(by fields: HTTPFields) -> Bool {
        ["ETag", "Last-Modified"].contains { name in
            fields.texts(name).first.map { isOwn($0, of: name) } ?? false
        }
    }

    /// Whether the stored response has the validator. Entity tags are compared weakly (RFC 9110 section 8.8.3.2): nginx
    /// makes the tag of a compressed response weak, and leaves that of the 304 strong.
    private func isOwn(_ value: FieldText, of name: String) -> Bool {
        guard let own = fields.texts(name).first?.bytes else { return false }
        return own == value.bytes || name == "ETag" && Self.opaque(own) == Self.opaque(value.bytes)
    }

    private static func opaque(_ tag: [UInt8]) -> ArraySlice<UInt8> {
        tag.starts(with: "W/\"".utf8) ? tag.dropFirst(2) : tag[...]
    }

    /// Whether the field is the strong form of the weak entity tag of the stored response, which stays weak: its bytes may
    /// be others.
    private func isStronger(_ field: HTTPFields.Field) -> Bool {
        guard HTTPFields.same(field.name, "ETag"), let etag, etag.hasPrefix("W/") else { return false }
        return !field.value.hasPrefix("W/") && isOwn(field.text, of: "ETag")
    }

    /// Whether a 304 is about this response (RFC 9111 section 4.3.4). The entity tag decides: servers that share the load
    /// may have other dates for the same file.
    package func isSelected(by fields: HTTPFields) -> Bool {
        if let tag = fields.texts("ETag").first, etag != nil { return isOwn(tag, of: "ETag") }
        return agrees(with: fields)
    }

    /// Whether a response to HEAD is about this very representation (RFC 9111 section 4.3.5).
    package func agrees(with fields: HTTPFields) -> Bool {
        for name in ["ETag", "Last-Modified"] {
            guard let value = fields.texts(name).first else { continue }
            if !isOwn(value, of: name) { return false }
        }
        return true
    }
}

extension CachedHead {
    /// Whether both responses have the same strong validator, so that their parts belong to one body (RFC 9110 section
    /// 15.3.7.3).
    package func isCombinable(with other: CachedHead) -> Bool {
        guard let tag = fields.texts("ETag").first?.bytes, tag.first == UInt8(ascii: "\"") else { return false }
        return tag == other.fields.texts("ETag").first?.bytes
    }

    /// Digests of the very bytes of a message (RFC 9530 section 2) are wrong for other bytes of the representation.
    static func removeDigests(_ fields: inout HTTPFields) {
        for name in ["Content-Digest", "Content-MD5"] { fields.remove(name) }
    }

    /// The head of a part after another part has joined it: 200 once the body is whole.
    package func joined(_ part: StoredPart) -> CachedHead {
        var fields = fields
        Self.removeDigests(&fields)
        fields.set("Content-Length", String(part.range.count))
        if part.isWhole { fields.remove("Content-Range") } else { fields.set("Content-Range", part.field) }
        return CachedHead(
            status: part.isWhole ? 200 : 206, reason: part.isWhole ? "OK" : reason, version: version, fields,
            requestedAt: requestedAt, respondedAt: respondedAt, fallback: fallback)
    }
}
