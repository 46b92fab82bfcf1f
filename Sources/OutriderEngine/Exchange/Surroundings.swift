// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport

/// What an exchange finds around it, and shares with all others.
struct Surroundings: Sendable {
    let transport: any Transport
    let workspace: Workspace
    let counters: EngineCounters
    let executors: LoopExecutors
    let paths: NetworkPathMonitor
    let budgets = RetryBudgets()
    let credentials: CredentialBroker
    let monitor = Monitor()
    let tally = ExchangeTally()
    /// Attempts of one exchange, whatever its retriers say.
    let mostAttempts: Int
}
