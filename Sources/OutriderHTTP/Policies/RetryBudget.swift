// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How many retries one origin is worth: a store that every first attempt fills a little and every retry empties, so that
/// a server in trouble does not get much more to do because it is in trouble.
package struct RetryBudget: Sendable, Equatable {
    /// What is there at first, and at most.
    package static let most = 500.0
    /// What a first attempt adds: a tenth of a retry.
    package static let share = 0.1

    package private(set) var balance = Self.most

    package init() {}

    package mutating func attempted() { balance = min(Self.most, balance + Self.share) }

    /// Takes one retry out of it; false if it is empty.
    package mutating func retry() -> Bool {
        guard balance >= 1 else { return false }
        balance -= 1
        return true
    }
}
