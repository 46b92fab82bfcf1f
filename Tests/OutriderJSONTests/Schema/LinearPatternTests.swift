// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct LinearPatternTests {
    private static func matches(_ pattern: String, _ text: String) throws -> Bool? {
        var steps = 1_000_000
        return try LinearPattern(pattern).matches(text, spending: &steps)
    }

    // with a type, because finding it takes the compiler seconds
    private static let matching: [(String, String, Bool)] = [
        ("", "", true), ("", "x", true), ("b", "abc", true), ("^b", "abc", false), ("^abc$", "abc", true),
        ("^abc$", "abc\n", false), ("a|b|cd", "xcd", true), ("^(a|b)*$", "abba", true), ("^(a|b)*$", "abcba", false),
        ("^a+$", "", false), ("^a?b$", "b", true), ("^a{2}$", "aa", true), ("^a{2}$", "aaa", false),
        ("^a{2,}$", "aaaa", true), ("^a{1,2}$", "aaa", false), ("^a{0}$", "", true), ("^a*?b$", "aab", true),
        ("^.$", "é", true), ("^.$", "👍", true), ("^.$", "\n", false), ("^[a-c]$", "b", true), ("^[^a-c]$", "b", false),
        ("^[]$", "a", false), ("^[^]$", "\n", true), ("^[a-]$", "-", true), ("^[\\w-.]+$", "a-b.c", true),
        ("^[\\b]$", "\u{8}", true), ("^\\d{3}-\\D$", "123-x", true), ("^\\d$", "٣", false),
        ("^\\s\\S$", "\u{FEFF}x", true),
        ("^\\w+$", "a_1", true), ("^\\W$", "é", true), ("\\bfoo\\b", "a foo b", true), ("\\bfoo\\b", "afoo", false),
        ("a\\Bb", "ab", true), ("^\\u0041\\x42\\u{43}\\cJ\\t$", "ABC\n\t", true), ("^\\ud83d\\udc4d$", "👍", true),
        ("^\\{a\\}\\/\\.$", "{a}/.", true), ("^{a}$", "{a}", true), ("^x{,2}$", "x{,2}", true),
        ("^\\p{Lu}\\p{Ll}+$", "Éa", true),
        ("^\\P{L}$", "1", true), ("^\\p{Letter}$", "ж", true), ("^[\\p{Nd}x]+$", "٣x", true),
        ("^(?:ab)+$", "abab", true),
        ("^(?<year>\\d{4})$", "2030", true), ("(^a|b$)", "xb", true), ("^(a*)*$", "aaaa", true),
        ("^(a|)+$", "aa", true),
        ("^(?:[a-z0-9]|-){1,63}$", "a-b-c", true), ("\\0", "\u{0}", true), ("^\\$", "$", true),
    ]

    @Test(arguments: matching)
    func `a pattern matches what it describes`(pattern: String, text: String, matches: Bool) throws {
        #expect(try Self.matches(pattern, text) == matches)
    }

    @Test(arguments: [
        ("(", "has a ( without its )"), (")", "has a ) without its ("), ("[a", "has a [ without its ]"),
        ("*a", "has a quantifier with nothing before it"), ("a**", "has a quantifier after another"),
        ("a{2,1}", "has a quantifier whose bounds are in the wrong order"),
        ("a{99999}", "repeats more than 10000 times"),
        ("(a{5000}){5000}", "is too large once its quantifiers are written out"),
        ("((){5000}){5000}", "is too large once its quantifiers are written out"), ("^*", "repeats ^, $ or \\b"),
        ("(?=a)", "looks ahead, which is not supported"), ("(?<!a)", "looks behind, which is not supported"),
        ("(a)\\1", "refers back to a group, which is not supported"), ("\\", "ends in a backslash"),
        ("\\q", "has the unknown escape \\q"), ("\\xg0", "has \\x or \\u with too few hexadecimal digits"),
        ("[z-a]", "has a range whose ends are in the wrong order"),
        ("(?i)a", "has a kind of group that is not supported: use (?:…)"),
        ("\\p{Klingon}", "has \\p{Klingon}, which is not supported: use a general category, such as \\p{L}"),
        (String(repeating: "(", count: 1000), "has more than 64 groups in groups"),
    ])
    func `what is no pattern of ours is refused with a reason`(pattern: String, reason: String) {
        let complaint = #expect(throws: JSONComplaint.self) { try LinearPattern(pattern) }
        #expect(complaint?.message == "is a pattern that \(reason)")
    }

    @Test(arguments: ["^(a+)+$", "^(a|a)*$", "(a*)*b", "^(a|aa)+$", "(.*)(.*)(.*)x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
    func `patterns that ruin others take steps in proportion to the text`(pattern: String) throws {
        let pattern = try LinearPattern(pattern)
        var spent: [Int] = []
        for count in [1000, 2000] {
            var steps = 10_000_000
            _ = pattern.matches(String(repeating: "a", count: count) + "!", spending: &steps)
            spent.append(10_000_000 - steps)
        }
        #expect(spent[1] < spent[0] * 3)
    }

    @Test func `any pattern and any text come to an end`() {
        var random = SeededRandom(seed: 73)
        let spice = utf8("()[]{}|*+?^$.\\dwspbxu0159,-:<>=!aAz\u{e9}")
        for _ in 0..<20_000 {
            let pattern = (0..<Int.random(in: 0..<14, using: &random)).map { _ in
                spice.randomElement(using: &random) ?? 0
            }
            let text = (0..<Int.random(in: 0..<20, using: &random)).map { _ in spice.randomElement(using: &random) ?? 0
            }
            var steps = 100_000
            let made = try? LinearPattern(String(decoding: pattern, as: UTF8.self))
            _ = made?.matches(String(decoding: text, as: UTF8.self), spending: &steps)
        }
    }
}
