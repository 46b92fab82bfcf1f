// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Parses a pattern: the common subset of ECMA 262 and other dialects, without constructs that cannot be matched in
/// linear time.
struct PatternParser {
    private let scalars: [UInt32]
    private var position = 0
    private var depth = 0

    private static let maximumDepth = 64
    /// The largest number in a quantifier.
    private static let maximumTimes = 10_000

    static func parse(_ pattern: String) throws(PatternFault) -> PatternTree {
        var parser = PatternParser(scalars: pattern.unicodeScalars.map(\.value))
        let tree = try parser.alternatives()
        if parser.position < parser.scalars.count { throw PatternFault(reason: "has a ) without its (") }
        return tree
    }

    private init(scalars: [UInt32]) { self.scalars = scalars }

    // MARK: structure

    private mutating func alternatives() throws(PatternFault) -> PatternTree {
        depth += 1
        defer { depth -= 1 }
        if depth > Self.maximumDepth {
            throw PatternFault(reason: "has more than \(Self.maximumDepth) groups in groups")
        }
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .either(branches)
    }

    private mutating func sequence() throws(PatternFault) -> PatternTree {
        var items: [PatternTree] = []
        while let next = peek, next != "|", next != ")" {
            let item = try atom()
            items.append(try quantified(item))
        }
        if items.isEmpty { return .empty }
        return items.count == 1 ? items[0] : .sequence(items)
    }

    private mutating func atom() throws(PatternFault) -> PatternTree {
        let scalar = scalars[position]
        position += 1
        switch Unicode.Scalar(scalar) {
        case "^": return .place(.start)
        case "$": return .place(.end)
        case ".": return Self.set(ScalarSet.lineEnds, negated: true)
        case "(": return try group()
        case "[": return try scalarClass()
        case "\\": return try escape()
        case "*", "+", "?": throw PatternFault(reason: "has a quantifier with nothing before it")
        default: return .scalar(scalar)
        }
    }

    private mutating func group() throws(PatternFault) -> PatternTree {
        if take("?") {
            if take(":") {
            } else if take("=") || take("!") {
                throw PatternFault(reason: "looks ahead, which is not supported")
            } else if take("<") {
                if take("=") || take("!") { throw PatternFault(reason: "looks behind, which is not supported") }
                while let next = peek, next != ">" { position += 1 }
                guard take(">") else { throw PatternFault(reason: "has a group whose name does not end") }
            } else {
                throw PatternFault(reason: "has a kind of group that is not supported: use (?:…)")
            }
        }
        let tree = try alternatives()
        guard take(")") else { throw PatternFault(reason: "has a ( without its )") }
        return tree
    }

    private mutating func quantified(_ item: PatternTree) throws(PatternFault) -> PatternTree {
        guard let bounds = try quantifier() else { return item }
        if case .place = item { throw PatternFault(reason: "repeats ^, $ or \\b") }
        // lazy or not, the same texts match
        _ = take("?")
        if peek == "*" || peek == "+" || peek == "?" { throw PatternFault(reason: "has a quantifier after another") }
        return .times(item, least: bounds.least, most: bounds.most)
    }

    private mutating func quantifier() throws(PatternFault) -> (least: Int, most: Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        guard peek == "{" else { return nil }
        let start = position
        position += 1
        // a brace outside a quantifier stands for itself, as browsers read patterns
        guard let least = try number() else {
            position = start
            return nil
        }
        var most: Int? = least
        if take(",") { most = try number() }
        guard take("}") else {
            position = start
            return nil
        }
        if let most, most < least { throw PatternFault(reason: "has a quantifier whose bounds are in the wrong order") }
        return (least, most)
    }

    private mutating func number() throws(PatternFault) -> Int? {
        var value: Int?
        while position < scalars.count, case let digit = scalars[position], digit >= 0x30, digit <= 0x39 {
            value = (value ?? 0) * 10 + Int(digit - 0x30)
            position += 1
            if let value, value > Self.maximumTimes {
                throw PatternFault(reason: "repeats more than \(Self.maximumTimes) times")
            }
        }
        return value
    }

    // MARK: classes

    private static func set(_ ranges: [ClosedRange<UInt32>], negated: Bool = false) -> PatternTree {
        var set = ScalarSet()
        set.add(ranges)
        if negated { set.negate() }
        set.settle()
        return .set(set)
    }

    private mutating func scalarClass() throws(PatternFault) -> PatternTree {
        var set = ScalarSet()
        if take("^") { set.negate() }
        while !take("]") {
            guard let low = try classAtom(into: &set) else { continue }
            guard peek == "-", position + 1 < scalars.count, scalars[position + 1] != 0x5D else {
                set.add(low)
                continue
            }
            position += 1
            guard let high = try classAtom(into: &set) else {
                // [a-\d]: the hyphen stands for itself
                set.add(low)
                set.add(0x2D)
                continue
            }
            if high < low { throw PatternFault(reason: "has a range whose ends are in the wrong order") }
            set.add(low...high)
        }
        set.settle()
        return .set(set)
    }

    /// Reads a scalar; nil after a whole class, which is added to the set.
    private mutating func classAtom(into set: inout ScalarSet) throws(PatternFault) -> UInt32? {
        guard position < scalars.count else { throw PatternFault(reason: "has a [ without its ]") }
        let scalar = scalars[position]
        position += 1
        guard scalar == 0x5C else { return scalar }
        if take("b") { return 0x08 }
        var escapes = PatternEscapes(scalars: scalars, position: position)
        defer { position = escapes.position }
        switch try escapes.read() {
        case .scalar(let scalar): return scalar
        case .ranges(let ranges): set.add(ranges)
        case .property(let property, let isNegated): set.add(property, negated: isNegated)
        }
        return nil
    }

    private mutating func escape() throws(PatternFault) -> PatternTree {
        if take("b") { return .place(.wordEdge) }
        if take("B") { return .place(.noWordEdge) }
        var escapes = PatternEscapes(scalars: scalars, position: position)
        defer { position = escapes.position }
        switch try escapes.read() {
        case .scalar(let scalar): return .scalar(scalar)
        case .ranges(let ranges): return Self.set(ranges)
        case .property(let property, let isNegated):
            var set = ScalarSet()
            set.add(property, negated: isNegated)
            return .set(set)
        }
    }

    // MARK: input

    private var peek: Unicode.Scalar? {
        position < scalars.count ? Unicode.Scalar(scalars[position]) : nil
    }

    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard peek == wanted else { return false }
        position += 1
        return true
    }
}
