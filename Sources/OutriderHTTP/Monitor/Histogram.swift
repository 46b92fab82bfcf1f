// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Counts values by size, within given bounds.
package struct Histogram: Sendable, Equatable {
    /// Upper bounds, ascending and inclusive.
    package let bounds: [Double]
    /// A count per bound, and a last count for greater values; not cumulative.
    package private(set) var counts: [Int]
    package private(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Bounds for durations on a network, in seconds: half a millisecond to a minute.
    package static let seconds = Histogram(
        bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])

    /// Adds a value. NaN is ignored; a negative value counts as 0.
    package mutating func observe(_ value: Double) {
        guard !value.isNaN else { return }
        let value = max(0, value)
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] &+= 1
        sum += value
    }

    package var count: Int { counts.reduce(0, &+) }

    /// For each bound the number of values up to that bound; the last is `count`.
    package var cumulative: [Int] {
        var sum = 0
        return counts.map { count in
            sum &+= count
            return sum
        }
    }
}
