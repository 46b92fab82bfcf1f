// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The user of a connection: the requests of a client, or those of a session with its own limit.
package struct PoolHolder: Sendable, Hashable {
    package var client: ClientKey
    /// The session, if it has its own limit; nil otherwise.
    package var session: SessionConnections?

    package init(client: ClientKey = .service, session: SessionConnections? = nil) {
        self.client = client
        self.session = session
    }
}

/// The `connectionsPerHost` of a session.
package struct SessionConnections: Sendable, Hashable {
    /// Different for each session.
    package var session: UInt64
    /// The session's limit of connections to an origin.
    package var limit: Int

    package init(session: UInt64, limit: Int) {
        self.session = session
        self.limit = limit
    }
}
