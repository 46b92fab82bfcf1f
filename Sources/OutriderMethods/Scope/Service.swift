// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
import OutriderHTTP

/// The state that the methods of all connections share, made once at the start.
package final class Service: Sendable {
    package let engine: Engine
    /// State shared by the connections of a user.
    let shares = UserShares()
    let streams = StreamIndex()
    /// Subscriptions and the log.
    package let monitors: any ServiceMonitors
    let callbacks = CallbackTally()
    /// The published metadata of authorization servers.
    let documents: ServerDocuments
    /// Logins in progress.
    let logins: LoginFlow
    /// Offers to prompt for the passphrase of the store.
    let passphrases = PassphrasePrompts()
    /// Sends events about credentials.
    let credentials: any CredentialWatchers
    /// Closes idle connections to servers.
    let flush: @Sendable () -> Void
    /// Ends the connections of a session's first plan, after the second has replaced that plan.
    let retire: @Sendable (SecurityPlan, SecurityPlan) -> Void
    /// Routers that the service was started with, for all connections.
    package let routers = RouterTable()
    /// Counts of connections to servers, for `server.stats`.
    package let pool: @Sendable () async -> PoolCounts

    /// Where the vault gets the passphrase.
    package var passphraseSource: any PassphraseSource { passphrases }

    /// Writes pending data to disk.
    package func settle() async { await shares.settle() }

    /// Ends the detached objects, and waits for the jars of cookies that closed.
    package func closeDetached() async {
        shares.close()
        await engine.jars.settle()
    }

    init(
        engine: Engine, monitors: any ServiceMonitors, credentials: any CredentialWatchers,
        flush: @escaping @Sendable () -> Void,
        retire: @escaping @Sendable (SecurityPlan, SecurityPlan) -> Void,
        pool: @escaping @Sendable () async -> PoolCounts
    ) {
        self.engine = engine
        documents = ServerDocuments(engine)
        logins = LoginFlow(engine, documents)
        self.monitors = monitors
        self.credentials = credentials
        self.flush = flush
        self.retire = retire
        self.pool = pool
    }
}

/// Connections to servers, now.
package struct PoolCounts: Sendable {
    package var connections: Int
    /// Of these connections, idle.
    package var idle: Int
    /// Requests that wait for a connection.
    package var waiting: Int
    /// Connections that speak HTTP/2, and the requests that these carry.
    package var http2 = 0
    package var streams = 0
    /// HTTP/2 connections that end after their running requests; not among `connections`.
    package var draining = 0

    package init(connections: Int = 0, idle: Int = 0, waiting: Int = 0) {
        self.connections = connections
        self.idle = idle
        self.waiting = waiting
    }
}
