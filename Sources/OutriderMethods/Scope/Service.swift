// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine

/// What the methods of all connections share, made once by the roof.
package final class Service: Sendable {
    package let engine: Engine
    /// What was detached from its connection.
    package let detached = HandleTable()
    /// What every client may use by its name.
    let sessions = NameTable()
    /// Closes the connections to servers that lie idle.
    let flush: @Sendable () -> Void
    /// Routers that all connections share.
    package let routers = RouterTable()
    /// The connections to servers, asked for by `server.stats`.
    package let pool: @Sendable () async -> PoolCounts

    package init(
        engine: Engine, flush: @escaping @Sendable () -> Void = {}, pool: @escaping @Sendable () async -> PoolCounts
    ) {
        self.engine = engine
        self.flush = flush
        self.pool = pool
    }
}

/// Connections to servers, now.
package struct PoolCounts: Sendable {
    package var connections: Int
    /// Of these, unused.
    package var idle: Int
    /// Requests that wait for one.
    package var waiting: Int

    package init(connections: Int = 0, idle: Int = 0, waiting: Int = 0) {
        self.connections = connections
        self.idle = idle
        self.waiting = waiting
    }
}
