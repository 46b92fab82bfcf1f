// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A set of status codes, as ranges: `200..299`. The empty set contains no status.
package struct StatusRanges: Sendable, Equatable {
    package var ranges: [ClosedRange<Int>]

    package init(_ ranges: [ClosedRange<Int>]) { self.ranges = ranges }

    /// 200 to 299.
    package static let successful = StatusRanges([200...299])

    package func contains(_ status: Int) -> Bool {
        ranges.contains { $0.contains(status) }
    }

    /// Parses an entry: `404`, `200..299` with both ends, or `200..<300` without the last.
    ///
    /// Nil for other text, and for numbers that are no status: 100 to 999, and 1000 after `..<`.
    package static func range(_ text: String) -> ClosedRange<Int>? {
        let bytes = text.utf8
        guard bytes.count <= 10, let dots = bytes.firstIndex(of: UInt8(ascii: ".")) else {
            return status(text[...]).map { $0...$0 }
        }
        guard let low = status(text[..<dots]) else { return nil }
        let rest = text[dots...]
        if rest.hasPrefix("..<") {
            guard let end = number(rest.dropFirst(3)), end > low, end <= 1000 else { return nil }
            return low...(end - 1)
        }
        guard rest.hasPrefix(".."), let high = status(rest.dropFirst(2)), high >= low else { return nil }
        return low...high
    }

    private static func status(_ text: Substring) -> Int? {
        number(text).flatMap { (100...999).contains($0) ? $0 : nil }
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
