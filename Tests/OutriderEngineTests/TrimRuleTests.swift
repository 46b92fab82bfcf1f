// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@testable import OutriderEngine

/// When the heap returns its free pages.
struct TrimRuleTests {
    private static let much = TrimRule.least + 1

    @Test func `a trim follows a rest after three quarters of much memory were given back`() {
        var rule = TrimRule()
        rule.rises(to: Self.much)
        var rests = [rule.falls(to: Self.much / 4 + 1), rule.falls(to: Self.much / 4)]
        // one rest at a time
        rests.append(rule.falls(to: 0))
        let trims = rule.rested(at: 0)
        // nothing was used since
        rests.append(rule.falls(to: 0))
        rule.rises(to: Self.much)
        rests.append(rule.falls(to: 0))
        #expect(rests == [false, true, false, false, true])
        #expect(trims)
    }

    @Test func `little memory is worth no trim`() {
        var rule = TrimRule()
        rule.rises(to: TrimRule.least)
        let rests = rule.falls(to: 0)
        #expect(!rests)
    }

    @Test func `much that is used again during the rest stops the trim, and later the trim comes`() {
        var rule = TrimRule()
        rule.rises(to: Self.much)
        let first = (rule.falls(to: 0), rule.rested(at: Self.much))
        let second = (rule.falls(to: 0), rule.rested(at: 0))
        #expect(first == (true, false) && second == (true, true))
    }

    @Test func `the end of many exchanges is told, though the budget counts none of them`() async throws {
        let stage = Stage()
        var exchanges: [Exchange] = []
        for _ in 0..<200 { exchanges.append(await stage.exchange()) }
        #expect(stage.quota.budget.counts.exchanges == 0)
        exchanges.removeLast(150)
        // told at each 64th
        #expect(stage.quota.budget.counts.exchanges == 72 * MemoryBudget.exchangeBytes)
        #expect(stage.quota.budget.counts.held == 0)
        exchanges = []
        #expect(stage.quota.budget.counts.exchanges == 8 * MemoryBudget.exchangeBytes)
    }
}
