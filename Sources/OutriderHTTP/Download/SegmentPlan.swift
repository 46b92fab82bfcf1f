// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Divides the missing ranges of a file among several requests.
package enum SegmentPlan {
    /// The smallest segment, in bytes: a smaller request costs more than its bytes gain.
    package static let leastBytes: Int64 = 1 << 20

    /// Divides the gaps into at most `count` pieces, in order; the first begins with the first gap. If there are more
    /// gaps, the rest is left for later.
    package static func pieces(
        _ gaps: [Range<Int64>], _ count: Int, leastBytes: Int64 = leastBytes
    ) -> [Range<Int64>] {
        let missing = gaps.reduce(Int64(0)) { $0 &+ ($1.upperBound &- $1.lowerBound) }
        let count = max(1, min(Int64(count), missing / max(1, leastBytes)))
        let share = max(1, missing / count &+ (missing % count == 0 ? 0 : 1))
        var pieces: [Range<Int64>] = []
        for gap in gaps {
            var start = gap.lowerBound
            while start < gap.upperBound, pieces.count < count {
                let left = gap.upperBound &- start
                // the rest would be too small for a segment
                let isLast = left < share &+ leastBytes || pieces.count == count &- 1
                let end = isLast ? gap.upperBound : start &+ share
                pieces.append(start..<end)
                start = end
            }
        }
        return pieces
    }
}
