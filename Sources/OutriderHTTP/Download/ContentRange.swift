// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A Content-Range field of bytes (RFC 9110 section 14.4).
package enum ContentRange: Sendable, Equatable {
    /// The range of the body, and the total length; nil if the server does not state the length.
    case part(Range<Int64>, of: Int64?)
    /// An unsatisfiable range, with the total length: with 416.
    case none(of: Int64)

    /// Nil if the text is no range of bytes, or contradicts itself.
    package init?(parsing text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, HTTPFields.same(String(words[0]), "bytes") else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let total = FieldRules.decimal(halves[1])
        guard total != nil || halves[1] == "*" else { return nil }
        if halves[0] == "*" {
            guard let total else { return nil }
            self = .none(of: total)
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = FieldRules.decimal(ends[0]), let last = FieldRules.decimal(ends[1]),
            first <= last, last < .max, total.map({ last < $0 }) ?? true
        else { return nil }
        self = .part(first..<(last &+ 1), of: total)
    }

    /// The range in the fields; nil without the field, or with several.
    package init?(_ fields: HTTPFields) {
        let values = fields.all("Content-Range")
        guard values.count == 1 else { return nil }
        self.init(parsing: values[0])
    }
}
