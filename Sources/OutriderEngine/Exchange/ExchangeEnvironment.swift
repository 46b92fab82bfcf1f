// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport

/// The services that all exchanges share.
final class ExchangeEnvironment: Sendable {
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

    init(
        transport: any Transport, workspace: Workspace, counters: EngineCounters, executors: LoopExecutors,
        paths: NetworkPathMonitor, networkChanges: NetworkChanges, credentials: CredentialBroker, mostAttempts: Int
    ) {
        self.transport = transport
        self.workspace = workspace
        self.counters = counters
        self.executors = executors
        self.paths = paths
        self.networkChanges = networkChanges
        self.credentials = credentials
        self.mostAttempts = mostAttempts
    }
}
