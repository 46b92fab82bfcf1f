// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A regular expression that takes time in proportion to its text, for every text: all ways through the pattern are
/// followed at once, without backtracking (Thompson's construction).
///
/// Supports the common subset of ECMA 262 and other dialects: alternatives, groups, quantifiers, classes, `^`, `$`,
/// `\b`, and `\p{…}` by general category. Looking ahead or behind and references to groups are refused.
package struct LinearPattern: Sendable {

    enum Step: Sendable {
        case scalar(UInt32)
        case set(ScalarSet)
        /// Continues at both steps.
        case split(Int, Int)
        case jump(Int)
        case place(PatternTree.Place)
        case match
    }

    private var steps: [Step] = []
    /// Whether a match can begin only at the start of the text.
    private let isAnchored: Bool

    private static let maximumSteps = 20_000
    /// Trees visited while building: empty trees add no step.
    private var visited = 0

    /// Throws a complaint about the pattern itself.
    package init(_ pattern: String) throws(JSONComplaint) {
        do throws(PatternFault) {
            let tree = try PatternParser.parse(pattern)
            isAnchored = Self.isAnchored(tree)
            try add(tree)
            steps.append(.match)
        } catch {
            throw JSONComplaint("is a pattern that \(error.reason)")
        }
    }

    private static func isAnchored(_ tree: PatternTree) -> Bool {
        switch tree {
        case .place(.start): true
        case .sequence(let items): items.first.map(isAnchored) ?? false
        case .either(let branches): branches.allSatisfy(isAnchored)
        default: false
        }
    }

    // MARK: building

    private mutating func add(_ tree: PatternTree) throws(PatternFault) {
        visited += 1
        if steps.count > Self.maximumSteps || visited > 4 * Self.maximumSteps {
            throw PatternFault(reason: "is too large once its quantifiers are written out")
        }
        switch tree {
        case .empty: break
        case .scalar(let scalar): steps.append(.scalar(scalar))
        case .set(let set): steps.append(.set(set))
        case .place(let place): steps.append(.place(place))
        case .sequence(let items): for item in items { try add(item) }
        case .either(let branches): try add(branches)
        case .times(let item, let least, let most): try add(item, least, most)
        }
    }

    private mutating func add(_ branches: [PatternTree]) throws(PatternFault) {
        var ends: [Int] = []
        for branch in branches.dropLast() {
            let split = steps.count
            steps.append(.match)
            try add(branch)
            ends.append(steps.count)
            steps.append(.match)
            steps[split] = .split(split + 1, steps.count)
        }
        if let last = branches.last { try add(last) }
        for end in ends { steps[end] = .jump(steps.count) }
    }

    private mutating func add(_ item: PatternTree, _ least: Int, _ most: Int?) throws(PatternFault) {
        for _ in 0..<least { try add(item) }
        guard let most else {
            let split = steps.count
            steps.append(.match)
            try add(item)
            steps.append(.jump(split))
            steps[split] = .split(split + 1, steps.count)
            return
        }
        var splits: [Int] = []
        for _ in 0..<(most - least) {
            splits.append(steps.count)
            steps.append(.match)
            try add(item)
        }
        for split in splits { steps[split] = .split(split + 1, steps.count) }
    }

    // MARK: matching

    /// Whether the pattern matches at any position of the text; nil if matching would take more steps than are left.
    package func matches(_ text: String, spending budget: inout Int) -> Bool? {
        let scalars = text.unicodeScalars.map(\.value)
        var ways = Ways(steps: steps, text: scalars)
        for position in 0...scalars.count {
            if position == 0 || !isAnchored { ways.enter(0, at: position) }
            budget -= 1 + ways.spent
            ways.spent = 0
            if ways.hasMatched { return true }
            if budget <= 0 { return nil }
            if position == scalars.count || isAnchored && ways.areNone { return false }
            ways.advance(over: scalars[position], to: position + 1)
        }
        return false
    }
}

/// All open ways through a pattern at a position of the text.
private struct Ways {
    private let steps: [LinearPattern.Step]
    private let text: [UInt32]
    /// Steps that wait for the next scalar.
    private var open: [Int] = []
    /// The position at which each step was last entered, plus 1.
    private var entered: [Int]
    private var todo: [Int] = []
    private(set) var hasMatched = false
    /// Steps taken since the last reset to zero.
    var spent = 0

    init(steps: [LinearPattern.Step], text: [UInt32]) {
        self.steps = steps
        self.text = text
        entered = [Int](repeating: 0, count: steps.count)
    }

    var areNone: Bool { open.isEmpty }

    mutating func enter(_ step: Int, at position: Int) {
        todo.append(step)
        while let step = todo.popLast() {
            if entered[step] == position + 1 { continue }
            entered[step] = position + 1
            spent += 1
            switch steps[step] {
            case .scalar, .set: open.append(step)
            case .jump(let next): todo.append(next)
            case .split(let one, let other):
                todo.append(one)
                todo.append(other)
            case .place(let place): if holds(place, at: position) { todo.append(step + 1) }
            case .match: hasMatched = true
            }
        }
    }

    mutating func advance(over scalar: UInt32, to position: Int) {
        let before = open
        open.removeAll(keepingCapacity: true)
        spent += before.count
        for step in before {
            switch steps[step] {
            case .scalar(let wanted): if wanted == scalar { enter(step + 1, at: position) }
            case .set(let set): if set.contains(scalar) { enter(step + 1, at: position) }
            default: break
            }
        }
    }

    private func holds(_ place: PatternTree.Place, at position: Int) -> Bool {
        switch place {
        case .start: position == 0
        case .end: position == text.count
        case .wordEdge: isWord(position - 1) != isWord(position)
        case .noWordEdge: isWord(position - 1) == isWord(position)
        }
    }

    private func isWord(_ index: Int) -> Bool {
        guard text.indices.contains(index) else { return false }
        return ScalarSet.words.contains { $0.contains(text[index]) }
    }
}
