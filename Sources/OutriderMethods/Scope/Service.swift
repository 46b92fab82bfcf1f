// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
import OutriderHTTP

/// What the methods of all connections share, made once by the roof.
package final class Service: Sendable {
    package let engine: Engine
    /// What the connections of each user share.
    let shares = UserShares()
    let streams = StreamIndex()
    /// Who watches what happens.
    package let monitors: any ServiceMonitors
    let callbacks = CallbackTally()
    /// What authorization servers publish.
    let documents: ServerDocuments
    /// Where people log in.
    let logins: LoginDesk
    /// Who may be asked for the passphrase of the store.
    let passphrases = PassphraseDesk()
    /// Who hears of credentials.
    let credentials: any CredentialWatchers
    /// Closes the connections to servers that lie idle.
    let flush: @Sendable () -> Void
    /// Ends the connections of a session's plan, the first one, that has become the second one.
    let retire: @Sendable (SecurityPlan, SecurityPlan) -> Void
    /// Routers that the service was started with, for all connections.
    package let routers = RouterTable()
    /// The connections to servers, asked for by `server.stats`.
    package let pool: @Sendable () async -> PoolCounts

    /// Whom the vault may ask.
    package var passphraseSource: any PassphraseSource { passphrases }

    /// Writes what waits for a disk.
    package func settle() async { await shares.settle() }

    /// Ends what was detached from its connection.
    package func closeDetached() { shares.close() }

    init(
        engine: Engine, monitors: any ServiceMonitors, credentials: any CredentialWatchers,
        flush: @escaping @Sendable () -> Void,
        retire: @escaping @Sendable (SecurityPlan, SecurityPlan) -> Void,
        pool: @escaping @Sendable () async -> PoolCounts
    ) {
        self.engine = engine
        documents = ServerDocuments(engine)
        logins = LoginDesk(engine, documents)
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
    /// Of these, unused.
    package var idle: Int
    /// Requests that wait for one.
    package var waiting: Int
    /// Connections that speak HTTP/2, and the requests that these carry.
    package var http2 = 0
    package var streams = 0
    /// HTTP/2 connections that end with the requests that they carry; not among `connections`.
    package var draining = 0

    package init(connections: Int = 0, idle: Int = 0, waiting: Int = 0) {
        self.connections = connections
        self.idle = idle
        self.waiting = waiting
    }
}
