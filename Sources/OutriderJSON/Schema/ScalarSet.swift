// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A set of Unicode scalars, as a class in a pattern describes it.
struct ScalarSet: Sendable, Equatable {
    /// A condition of `\p{…}` on a scalar.
    enum Property: Sendable, Equatable {
        /// Any of these general categories.
        case category([Unicode.GeneralCategory])
        case alphabetic
        case whitespace
    }

    private struct Test: Sendable, Equatable {
        var property: Property
        var isNegated: Bool
    }

    /// Sorted before the first call of `contains`; may overlap.
    private var ranges: [ClosedRange<UInt32>] = []
    private var tests: [Test] = []
    private var isNegated = false

    mutating func add(_ range: ClosedRange<UInt32>) { ranges.append(range) }

    mutating func add(_ scalar: UInt32) { ranges.append(scalar...scalar) }

    mutating func add(_ other: [ClosedRange<UInt32>]) { ranges.append(contentsOf: other) }

    mutating func add(_ property: Property, negated: Bool) {
        tests.append(Test(property: property, isNegated: negated))
    }

    mutating func negate() { isNegated.toggle() }

    /// The complement of the ranges.
    static func outside(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var result: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { result.append(next...(range.lowerBound - 1)) }
            next = max(next, range.upperBound &+ 1)
        }
        if next <= 0x10FFFF { result.append(next...0x10FFFF) }
        return result
    }

    /// Sorts and joins the ranges, so that `contains` can use binary search.
    mutating func settle() {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }

    func contains(_ scalar: UInt32) -> Bool { (inRanges(scalar) || passesTest(scalar)) != isNegated }

    private func inRanges(_ scalar: UInt32) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar {
                low = middle + 1
            } else if ranges[middle].lowerBound > scalar {
                high = middle
            } else {
                return true
            }
        }
        return false
    }

    private func passesTest(_ scalar: UInt32) -> Bool {
        guard !tests.isEmpty, let properties = Unicode.Scalar(scalar)?.properties else { return false }
        return tests.contains { test in
            let holds =
                switch test.property {
                case .category(let wanted): wanted.contains(properties.generalCategory)
                case .alphabetic: properties.isAlphabetic
                case .whitespace: properties.isWhitespace
                }
            return holds != test.isNegated
        }
    }

    // ECMA 262 section 22.2.2.9
    static let digits: [ClosedRange<UInt32>] = [0x30...0x39]
    static let words: [ClosedRange<UInt32>] = [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A]
    static let spaces: [ClosedRange<UInt32>] = [
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ]
    static let lineEnds: [ClosedRange<UInt32>] = [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029]
}
