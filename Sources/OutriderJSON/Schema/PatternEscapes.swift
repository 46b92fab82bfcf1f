// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads the escape after a backslash in a pattern (ECMA 262 section 22.2.1), except for `\b` and `\B`.
struct PatternEscapes {
    enum Meaning: Equatable {
        case scalar(UInt32)
        case ranges([ClosedRange<UInt32>])
        case property(ScalarSet.Property, isNegated: Bool)
    }

    let scalars: [UInt32]
    /// First the position after the backslash, then the position after the escape.
    var position: Int

    mutating func read() throws(PatternFault) -> Meaning {
        guard position < scalars.count, let scalar = Unicode.Scalar(scalars[position]) else {
            throw PatternFault(reason: "ends in a backslash")
        }
        position += 1
        switch scalar {
        case "d": return .ranges(ScalarSet.digits)
        case "D": return .ranges(ScalarSet.outside(ScalarSet.digits))
        case "w": return .ranges(ScalarSet.words)
        case "W": return .ranges(ScalarSet.outside(ScalarSet.words))
        case "s": return .ranges(ScalarSet.spaces)
        case "S": return .ranges(ScalarSet.outside(ScalarSet.spaces))
        case "p", "P": return try property(isNegated: scalar == "P")
        case "t": return .scalar(0x09)
        case "n": return .scalar(0x0A)
        case "v": return .scalar(0x0B)
        case "f": return .scalar(0x0C)
        case "r": return .scalar(0x0D)
        case "0": return .scalar(0)
        case "c": return .scalar(try control())
        case "x": return .scalar(try hexadecimal(2))
        case "u": return .scalar(try unicode())
        case "1"..."9", "k": throw PatternFault(reason: "refers back to a group, which is not supported")
        case "a"..."z", "A"..."Z": throw PatternFault(reason: "has the unknown escape \\\(scalar)")
        default: return .scalar(scalar.value)
        }
    }

    private mutating func control() throws(PatternFault) -> UInt32 {
        guard position < scalars.count, case let letter = scalars[position] & ~0x20, letter >= 0x41, letter <= 0x5A
        else {
            throw PatternFault(reason: "has \\c without a letter after it")
        }
        position += 1
        return letter & 0x1F
    }

    private mutating func hexadecimal(_ count: Int) throws(PatternFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard position < scalars.count, let digit = Self.value(scalars[position]) else {
                throw PatternFault(reason: "has \\x or \\u with too few hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }

    private mutating func unicode() throws(PatternFault) -> UInt32 {
        if position < scalars.count, scalars[position] == 0x7B { return try braced() }
        let first = try hexadecimal(4)
        guard first & 0xFC00 == 0xD800, position + 1 < scalars.count, scalars[position] == 0x5C,
            scalars[position + 1] == 0x75
        else { return first }
        let before = position
        position += 2
        let second = try hexadecimal(4)
        if second & 0xFC00 == 0xDC00 { return 0x10000 + ((first & 0x3FF) << 10 | second & 0x3FF) }
        position = before
        return first
    }

    private mutating func braced() throws(PatternFault) -> UInt32 {
        position += 1
        var value: UInt32 = 0
        while position < scalars.count, let digit = Self.value(scalars[position]), value <= 0x10FFFF {
            value = value << 4 | digit
            position += 1
        }
        guard position < scalars.count, scalars[position] == 0x7D, value <= 0x10FFFF else {
            throw PatternFault(reason: "has \\u{…} that is no Unicode scalar")
        }
        position += 1
        return value
    }

    private mutating func property(isNegated: Bool) throws(PatternFault) -> Meaning {
        guard position < scalars.count, scalars[position] == 0x7B,
            let end = scalars[position...].firstIndex(of: 0x7D), end - position < 64
        else { throw PatternFault(reason: "has \\p without {…} after it") }
        var name = ""
        for scalar in scalars[(position + 1)..<end].compactMap(Unicode.Scalar.init) {
            name.unicodeScalars.append(scalar)
        }
        position = end + 1
        switch name {
        case "Any": return .ranges(isNegated ? [] : [0...0x10FFFF])
        case "ASCII": return .ranges(isNegated ? [0x80...0x10FFFF] : [0...0x7F])
        default:
            guard let property = ScalarCategories.named(name) else {
                throw PatternFault(
                    reason: "has \\p{\(name)}, which is not supported: use a general category, such as \\p{L}")
            }
            return .property(property, isNegated: isNegated)
        }
    }

    private static func value(_ scalar: UInt32) -> UInt32? {
        switch scalar {
        case 0x30...0x39: scalar - 0x30
        case 0x41...0x46: scalar - 0x37
        case 0x61...0x66: scalar - 0x57
        default: nil
        }
    }
}
