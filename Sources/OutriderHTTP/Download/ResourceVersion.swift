// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A version of a resource: its length and validators (RFC 9110 section 8.8).
package struct ResourceVersion: Sendable, Equatable {
    /// The length of the whole, in bytes.
    package var total: Int64?
    /// As received, weak or strong.
    package var etag: String?
    /// As received.
    package var lastModified: String?
    /// The Content-Encoding of the kept bytes; nil for none. Parts in different codings cannot be combined.
    package var coding: String?

    package init(total: Int64? = nil, etag: String? = nil, lastModified: String? = nil, coding: String? = nil) {
        self.total = total
        self.etag = etag
        self.lastModified = lastModified
        self.coding = coding
    }

    package init(_ fields: HTTPFields, total: Int64?) {
        let codings = fields.all("Content-Encoding").flatMap(FieldRules.listed).map { $0.lowercased() }
            .filter { $0 != "identity" }
        self.init(
            total: total, etag: fields.first("ETag"), lastModified: fields.first("Last-Modified"),
            coding: codings.isEmpty ? nil : codings.joined(separator: ", "))
    }

    /// The version of bytes to keep: without a Last-Modified that is not at least a second before Date, since the
    /// resource may change once more in that second (section 8.8.2.2).
    package init(toKeep fields: HTTPFields, total: Int64?) {
        self.init(fields, total: total)
        let dates = [lastModified, fields.first("Date")].map { $0.flatMap { HTTPDate.parse($0, now: 0) } }
        if let changed = dates[0], let sent = dates[1], changed >= sent { lastModified = nil }
    }

    /// The entity tag if strong: equal tags mean equal bytes (section 8.8.1).
    package var strongTag: String? {
        guard let etag, etag.hasPrefix("\"") else { return nil }
        return etag
    }

    /// The value for If-Range: a strong tag, or the date (section 13.1.5).
    package var condition: String? { strongTag ?? (etag == nil ? lastModified : nil) }

    package enum Comparison: Sendable, Equatable { case same, different, unknown }

    /// Whether bytes of the other version may follow bytes of this version. Another length or tag proves a difference,
    /// whatever the dates say: weak tags that differ are two versions of the same second. Equal strong tags prove
    /// equality, else equal dates do; an equal length or weak tag proves nothing (sections 8.8.1 and 15.3.7.3).
    package func compared(with other: ResourceVersion) -> Comparison {
        if coding != other.coding { return .different }
        if let total, let theirs = other.total, total != theirs { return .different }
        if let etag, let theirs = other.etag, Self.opaque(etag) != Self.opaque(theirs) { return .different }
        if strongTag != nil, other.strongTag != nil { return .same }
        if let lastModified, let theirs = other.lastModified { return lastModified == theirs ? .same : .different }
        return .unknown
    }

    /// A tag without the prefix of weak tags.
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Whether a validator can tell this version from others.
    package var isRecognizable: Bool { strongTag != nil || lastModified != nil }

    /// The known properties, as text for people.
    package var description: String {
        var facts: [String] = []
        if let etag { facts.append("ETag \(etag)") }
        if let lastModified { facts.append("Last-Modified \(lastModified)") }
        if let total { facts.append("\(total) bytes") }
        if let coding { facts.append("Content-Encoding \(coding)") }
        return facts.isEmpty ? "nothing to compare" : facts.joined(separator: ", ")
    }
}
