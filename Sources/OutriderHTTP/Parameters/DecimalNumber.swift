// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A decimal number with all its digits, never rounded.
package struct DecimalNumber: Sendable, Equatable {
    package private(set) var isNegative = false
    /// Digits before and after the point, without needless zeros: none and none for zero.
    package private(set) var whole: [UInt8] = []
    package private(set) var fraction: [UInt8] = []

    /// Nil for text outside the grammar of JSON numbers (RFC 8259 section 6), and for more than 400 places before or
    /// after the point.
    package init?(_ text: String) {
        var bytes = Array(text.utf8)[...]
        if bytes.first == UInt8(ascii: "-") {
            isNegative = true
            bytes.removeFirst()
        }
        whole = Self.digits(&bytes)
        guard !whole.isEmpty, whole.count == 1 || whole.first != UInt8(ascii: "0") else { return nil }
        if bytes.first == UInt8(ascii: ".") {
            bytes.removeFirst()
            fraction = Self.digits(&bytes)
            if fraction.isEmpty { return nil }
        }
        var shift = 0
        if let first = bytes.first, first | 0x20 == UInt8(ascii: "e") {
            guard let exponent = Self.exponent(bytes.dropFirst()) else { return nil }
            shift = exponent
            bytes = []
        }
        guard bytes.isEmpty else { return nil }
        move(by: shift)
        guard whole.count <= Self.most, fraction.count <= Self.most else { return nil }
    }

    private static let most = 400

    private static func digits(_ bytes: inout ArraySlice<UInt8>) -> [UInt8] {
        let digits = bytes.prefix { (0x30...0x39).contains($0) }
        bytes = bytes[digits.endIndex...]
        return Array(digits)
    }

    /// Clamped, so that numbers cannot grow without bound.
    private static func exponent(_ bytes: ArraySlice<UInt8>) -> Int? {
        var rest = bytes
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        let digits = digits(&rest)
        guard rest.isEmpty, !digits.isEmpty else { return nil }
        let size = digits.reduce(0) { min($0 * 10 + Int(truncatingIfNeeded: $1 &- 0x30), most * 1000) }
        return isNegative ? -size : size
    }

    /// Moves the point, to the right for a positive number; more than any number can use changes the size only.
    private mutating func move(by places: Int) {
        let zero = UInt8(ascii: "0")
        let isZero = whole.allSatisfy { $0 == zero } && fraction.allSatisfy { $0 == zero }
        if isZero {
            (whole, fraction) = ([], [])
            return
        }
        if places > 0 {
            let moved = fraction.prefix(places)
            whole += moved
            fraction.removeFirst(moved.count)
            whole += repeatElement(zero, count: min(places - moved.count, Self.most + 1))
        } else if places < 0 {
            let moved = whole.suffix(-places)
            whole.removeLast(moved.count)
            fraction = moved + fraction
            let missing = min(-places - moved.count, Self.most + 1)
            fraction = Array(repeatElement(zero, count: missing)) + fraction
        }
        whole = Array(whole.drop { $0 == zero })
        while fraction.last == zero { fraction.removeLast() }
    }

    /// Without exponent, and without a zero fraction: `1`, `-0.5`, `1.123456`.
    package var plain: String {
        let digits = whole.isEmpty ? [UInt8(ascii: "0")] : whole
        let sign = isNegative && !(whole.isEmpty && fraction.isEmpty) ? "-" : ""
        let start = sign + String(decoding: digits, as: UTF8.self)
        return fraction.isEmpty ? start : "\(start).\(String(decoding: fraction, as: UTF8.self))"
    }
}
