// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A number with the semantics of JSON Schema: exact, with no difference between `1` and `1.0`.
///
/// The digits are the shortest that read back as the number: 0.1 is a tenth here.
struct SchemaNumber: Sendable, Hashable {
    private let isNegative: Bool
    /// Without trailing zeros.
    private let digits: UInt64
    /// The value is digits × 10^exponent.
    private let exponent: Int

    /// Nil if the value is not a number.
    init?(_ value: JSONValue) {
        switch value.rounded {
        case .integer(let number): self.init(number < 0, number.magnitude, 0)
        case .real(let number): self.init(number)
        default: return nil
        }
    }

    private init?(_ number: Double) {
        guard number.isFinite else { return nil }
        if let whole = Int64(exactly: number) {
            self.init(whole < 0, whole.magnitude, 0)
            return
        }
        var digits: UInt64 = 0
        var exponent = 0
        var isFraction = false
        let text = number.magnitude.description.utf8
        for (index, byte) in zip(text.indices, text) {
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else if byte == UInt8(ascii: "e") {
                exponent &+= Int(String(decoding: text[text.index(after: index)...], as: UTF8.self)) ?? 0
                break
            } else {
                // a real below 2^54 is written in full, a larger real has 17 digits
                digits = digits &* 10 &+ UInt64(byte &- 0x30)
                if isFraction { exponent &-= 1 }
            }
        }
        self.init(number < 0, digits, exponent)
    }

    private init(_ isNegative: Bool, _ digits: UInt64, _ exponent: Int) {
        var digits = digits
        var exponent = exponent
        while digits != 0, digits.isMultiple(of: 10) {
            digits /= 10
            exponent += 1
        }
        self.isNegative = isNegative && digits != 0
        self.digits = digits
        self.exponent = digits == 0 ? 0 : exponent
    }

    var isPositive: Bool { !isNegative && digits != 0 }

    /// Whether the number is an integral multiple of the divisor.
    func isMultiple(of divisor: SchemaNumber) -> Bool {
        guard divisor.digits != 0 else { return false }
        if digits == 0 { return true }
        let shift = exponent - divisor.exponent
        if shift < 0 {
            // the digits have no trailing zero, so a division decides whether they contain all tens of the divisor's
            // scale
            guard -shift < 20 else { return false }
            var scaled = divisor.digits
            for _ in 0..<(-shift) {
                let (product, overflow) = scaled.multipliedReportingOverflow(by: 10)
                if overflow { return false }
                scaled = product
            }
            return digits.isMultiple(of: scaled)
        }
        let modulus = divisor.digits
        var rest = digits % modulus
        // at most about 650 rounds: reals range from 10^-324 to 10^308
        for _ in 0..<shift {
            if rest == 0 { return true }
            // rest is less than the modulus, so the high half of ten times rest is, too
            let (high, low) = rest.multipliedFullWidth(by: 10)
            rest = high < modulus ? modulus.dividingFullWidth((high, low)).remainder : 0
        }
        return rest == 0
    }

    /// Negative, zero or positive, if the first value is less than, equal to or greater than the second.
    ///
    /// Nil unless both are numbers. Exact: no integer is rounded.
    static func order(_ one: JSONValue, _ other: JSONValue) -> Int? {
        switch (one.rounded, other.rounded) {
        case (.integer(let one), .integer(let other)): one < other ? -1 : one == other ? 0 : 1
        case (.real(let one), .real(let other)): one < other ? -1 : one == other ? 0 : 1
        case (.integer(let one), .real(let other)): order(one, other)
        case (.real(let one), .integer(let other)): -order(other, one)
        default: nil
        }
    }

    private static func order(_ one: Int64, _ other: Double) -> Int {
        guard let whole = Int64(exactly: other.rounded(.towardZero)) else { return other > 0 ? -1 : 1 }
        if one != whole { return one < whole ? -1 : 1 }
        let fraction = other - other.rounded(.towardZero)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}
