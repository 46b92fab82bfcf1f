// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// A retry budget per origin, over the whole service.
final class RetryBudgets: Sendable {
    /// Limit of origins with a budget; a further origin resets all budgets.
    private static let most = 4096

    private let budgets = Mutex<[String: RetryBudget]>([:])

    /// The first attempt of a repeatable request.
    func attempted(_ origin: String) {
        budgets.withLock { budgets in
            // a full budget is not stored
            guard budgets[origin] != nil else { return }
            budgets[origin]?.attempted()
            if budgets[origin] == RetryBudget() { budgets[origin] = nil }
        }
    }

    /// Takes a retry from the budget; false if the origin has had too many.
    func retry(_ origin: String) -> Bool {
        budgets.withLock { budgets in
            if budgets.count >= Self.most, budgets[origin] == nil { budgets = [:] }
            return budgets[origin, default: RetryBudget()].retry()
        }
    }
}
