// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// One retry budget for each origin, over the whole service.
final class RetryBudgets: Sendable {
    /// So many origins are told apart; beyond that, all begin anew.
    private static let most = 4096

    private let budgets = Mutex<[String: RetryBudget]>([:])

    /// A request that may be repeated is sent for the first time.
    func attempted(_ origin: String) {
        budgets.withLock { budgets in
            // a full one says nothing
            guard budgets[origin] != nil else { return }
            budgets[origin]?.attempted()
            if budgets[origin] == RetryBudget() { budgets[origin] = nil }
        }
    }

    /// Takes a retry; false if the origin has had too many.
    func retry(_ origin: String) -> Bool {
        budgets.withLock { budgets in
            if budgets.count >= Self.most, budgets[origin] == nil { budgets = [:] }
            return budgets[origin, default: RetryBudget()].retry()
        }
    }
}
