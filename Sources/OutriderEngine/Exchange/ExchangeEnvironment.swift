// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport

/// The services that all exchanges share.
struct ExchangeEnvironment: Sendable {
    let transport: any Transport
    let workspace: Workspace
    let counters: EngineCounters
    let executors: LoopExecutors
    let paths: NetworkPathMonitor
    let networkChanges: NetworkChanges
    let budgets = RetryBudgets()
    let credentials: CredentialBroker
    let monitor = Monitor()
    let tally = ExchangeTally()
    /// Limit of attempts per exchange, whatever its retriers decide.
    let mostAttempts: Int
}
