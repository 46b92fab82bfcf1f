// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What tells one version of a resource from another: its length and its validators (RFC 9110 section 8.8).
package struct ResourceVersion: Sendable, Equatable {
    /// The length of the whole, in bytes.
    package var total: Int64?
    /// As it came, weak or strong.
    package var etag: String?
    /// As it came.
    package var lastModified: String?
    /// The Content-Encoding of what is kept; nil for none. Parts in different codings do not fit together.
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

    /// The entity tag, if it is a strong one: equal tags, equal bytes (section 8.8.1).
    package var strongTag: String? {
        guard let etag, etag.hasPrefix("\"") else { return nil }
        return etag
    }

    /// What If-Range may hold: a strong tag, or the date (section 13.1.5).
    package var condition: String? { strongTag ?? (etag == nil ? lastModified : nil) }

    package enum Comparison: Sendable, Equatable { case same, different, unknown }

    /// Whether bytes of the other version may follow bytes of this one. Strong tags decide where both have one, else the
    /// dates; a length that differs, or a weak tag, proves a difference, but none proves that nothing has changed
    /// (sections 8.8.1 and 15.3.7.3).
    package func compared(with other: ResourceVersion) -> Comparison {
        if coding != other.coding { return .different }
        if let total, let theirs = other.total, total != theirs { return .different }
        if let strongTag, let theirs = other.strongTag { return strongTag == theirs ? .same : .different }
        if let lastModified, let theirs = other.lastModified { return lastModified == theirs ? .same : .different }
        if let etag, let theirs = other.etag, Self.opaque(etag) != Self.opaque(theirs) { return .different }
        return .unknown
    }

    /// A tag without the mark of a weak one.
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Whether there is anything by which it could be known again.
    package var isRecognizable: Bool { strongTag != nil || lastModified != nil }

    /// For people: what is known of it.
    package var description: String {
        var facts: [String] = []
        if let etag { facts.append("ETag \(etag)") }
        if let lastModified { facts.append("Last-Modified \(lastModified)") }
        if let total { facts.append("\(total) bytes") }
        if let coding { facts.append("Content-Encoding \(coding)") }
        return facts.isEmpty ? "nothing to compare" : facts.joined(separator: ", ")
    }
}
