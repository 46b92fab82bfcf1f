// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The retries that an origin may get: each first attempt adds a little, each retry takes away, so that retries do not
/// overload a server in trouble.
package struct RetryBudget: Sendable, Equatable {
    /// The initial and greatest balance.
    package static let most = 500.0
    /// The gain of a first attempt: a tenth of a retry.
    package static let share = 0.1

    package private(set) var balance = Self.most

    package init() {}

    package mutating func attempted() { balance = min(Self.most, balance + Self.share) }

    /// Takes a retry out of the budget; false if the budget is empty.
    package mutating func retry() -> Bool {
        guard balance >= 1 else { return false }
        balance -= 1
        return true
    }
}
