// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Where the body of a 206 lies in the whole body (RFC 9110 section 14.4).
package struct StoredPart: Sendable, Equatable {
    /// Positions in the whole body.
    package let range: Range<Int>
    /// Bytes of the whole body.
    package let total: Int

    package init?(range: Range<Int>, total: Int) {
        guard range.lowerBound >= 0, !range.isEmpty, range.upperBound <= total else { return nil }
        (self.range, self.total) = (range, total)
    }

    /// Nil unless the fields describe one part, of a body whose length is known and that is not encoded.
    package init?(_ fields: HTTPFields) {
        let lines = fields.all("Content-Range")
        guard lines.count == 1, !fields.contains("Content-Encoding") else { return nil }
        let words = lines[0].split(separator: " ")
        guard words.count == 2, HTTPFields.same(String(words[0]), "bytes") else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let total = FieldRules.decimal(halves[1]) else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = FieldRules.decimal(ends[0]), let last = FieldRules.decimal(ends[1]),
            first <= last, last < total, total <= Int64(Int.max)
        else { return nil }
        // safe: at most `total`, which an Int holds
        self.init(range: Int(first)..<Int(last) + 1, total: Int(total))
    }

    package var isWhole: Bool { range.count == total }

    package var field: String { "bytes \(range.lowerBound)-\(range.upperBound &- 1)/\(total)" }

    /// Where the wanted bytes lie in the stored part; nil if the part does not hold all of them.
    package func place(of wish: ByteRange) -> Range<Int>? {
        guard let wanted = wish.bytes(of: total), range.lowerBound <= wanted.lowerBound,
            wanted.upperBound <= range.upperBound
        else { return nil }
        return (wanted.lowerBound &- range.lowerBound)..<(wanted.upperBound &- range.lowerBound)
    }

    /// Both parts as one; nil if bytes are missing between them, or if they are parts of different bodies.
    package func joined(with other: StoredPart) -> StoredPart? {
        guard total == other.total, range.lowerBound <= other.range.upperBound,
            other.range.lowerBound <= range.upperBound
        else { return nil }
        let (first, end) = (
            min(range.lowerBound, other.range.lowerBound), max(range.upperBound, other.range.upperBound)
        )
        return StoredPart(range: first..<end, total: total)
    }
}
