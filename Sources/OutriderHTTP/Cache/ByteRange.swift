// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One range of bytes of a request (RFC 9110 section 14.1.2).
package enum ByteRange: Sendable, Equatable {
    /// From the first byte to the last one, both included; nil for the end of the body.
    case from(Int64, to: Int64?)
    case last(Int64)

    /// Nil for another unit, several ranges, or text that is no range.
    package init?(parsing text: String) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, HTTPFields.same(String(FieldRules.trimmed(parts[0])), "bytes") else { return nil }
        let ends = FieldRules.trimmed(parts[1]).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        let (first, last) = (FieldRules.decimal(ends[0]), FieldRules.decimal(ends[1]))
        switch (first, last) {
        case (let first?, let last?):
            guard first <= last else { return nil }
            self = .from(first, to: last)
        case (let first?, nil) where ends[1].isEmpty: self = .from(first, to: nil)
        case (nil, let last?) where ends[0].isEmpty: self = .last(last)
        default: return nil
        }
    }

    /// The bytes that the range selects of a body; nil if there are none.
    package func bytes(of size: Int) -> Range<Int>? {
        let all = Int64(size)  // safe: Int is not wider
        switch self {
        case .from(let first, let last):
            guard first < all else { return nil }
            let end = min(last.map { $0 == .max ? .max : $0 &+ 1 } ?? all, all)
            return Int(truncatingIfNeeded: first)..<Int(truncatingIfNeeded: end)
        case .last(let count):
            guard count > 0, all > 0 else { return nil }
            return Int(truncatingIfNeeded: max(0, all &- count))..<size
        }
    }
}
