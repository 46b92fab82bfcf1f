// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderRPC

/// What all connections share, made once by the roof.
package final class Service: Sendable {
    package let control: any ServerControl
    package let engine: Engine
    /// What was detached from its connection.
    package let detached = HandleTable()
    /// What the engine has counted, asked for by `server.stats`.
    package let engineCounters: @Sendable () -> EngineCounters

    package init(
        control: any ServerControl, engine: Engine, engineCounters: @escaping @Sendable () -> EngineCounters
    ) {
        self.control = control
        self.engine = engine
        self.engineCounters = engineCounters
    }
}

/// What the engine counts, since its start unless said otherwise.
package struct EngineCounters: Sendable {
    package var requestsRunning = 0
    package var requestsTotal = 0
    /// Ended with `ok: false`.
    package var requestsFailed = 0
    /// Connections to servers that are open now.
    package var poolConnections = 0
    /// Of these, unused.
    package var poolIdle = 0
    /// Requests that wait for a connection.
    package var poolWaiting = 0
    /// Exchanged with servers, TLS excluded.
    package var bytesReceived = 0
    package var bytesSent = 0

    package init() {}
}
