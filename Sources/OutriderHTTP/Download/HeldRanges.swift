// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The ranges of a file that are present: in order, neither adjacent nor overlapping.
package struct HeldRanges: Sendable, Equatable {
    package private(set) var ranges: [Range<Int64>] = []

    /// The most ranges that are read from a journal.
    package static let most = 1024

    package init() {}

    /// The first bytes of a file.
    package init(first count: Int64) {
        if count > 0 { ranges = [0..<count] }
    }

    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        var merged = range
        var kept: [Range<Int64>] = []
        kept.reserveCapacity(ranges.count &+ 1)
        var index = 0
        while index < ranges.count, ranges[index].upperBound < merged.lowerBound {
            kept.append(ranges[index])
            index &+= 1
        }
        while index < ranges.count, ranges[index].lowerBound <= merged.upperBound {
            merged =
                min(merged.lowerBound, ranges[index].lowerBound)..<max(merged.upperBound, ranges[index].upperBound)
            index &+= 1
        }
        kept.append(merged)
        kept.append(contentsOf: ranges[index...])
        ranges = kept
    }

    package mutating func remove(_ range: Range<Int64>) {
        ranges = ranges.flatMap { held -> [Range<Int64>] in
            guard held.overlaps(range) else { return [held] }
            let before = held.lowerBound..<max(held.lowerBound, range.lowerBound)
            let behind = min(held.upperBound, range.upperBound)..<held.upperBound
            return [before, behind].filter { !$0.isEmpty }
        }
    }

    /// The number of bytes present.
    package var count: Int64 { ranges.reduce(0) { $0 &+ ($1.upperBound &- $1.lowerBound) } }

    package func contains(_ range: Range<Int64>) -> Bool {
        ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// The number of bytes from the start without a gap.
    package var prefix: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Whether the bytes present are a prefix of the file.
    package var isPrefix: Bool { ranges.isEmpty || ranges.count == 1 && ranges[0].lowerBound == 0 }

    /// The end of the last range.
    package var end: Int64 { ranges.last?.upperBound ?? 0 }

    /// The missing ranges of a file of `total` bytes; if the length is unknown, the last range is open.
    package func gaps(of total: Int64?) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position: Int64 = 0
        for range in ranges {
            if range.lowerBound > position { gaps.append(position..<range.lowerBound) }
            position = range.upperBound
        }
        let end = total ?? .max
        if position < end { gaps.append(position..<end) }
        return gaps
    }

    /// The ranges within the first `count` bytes.
    package func clipped(to count: Int64) -> HeldRanges {
        var clipped = HeldRanges()
        for range in ranges where range.lowerBound < count {
            clipped.insert(range.lowerBound..<min(range.upperBound, count))
        }
        return clipped
    }
}
