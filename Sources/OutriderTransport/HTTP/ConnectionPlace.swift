// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A place for one connection in the share of a client, taken until it is given back.
// proof: confined to the loop of its pool; other threads only carry the reference.
final class ConnectionPlace: @unchecked Sendable {
    let client: ClientKey
    private var pool: ConnectionPool?

    init(_ client: ClientKey, _ pool: ConnectionPool) {
        self.client = client
        self.pool = pool
    }

    /// Harmless when repeated.
    func giveBack() {
        guard let pool else { return }
        self.pool = nil
        pool.giveBack(client)
    }
}
