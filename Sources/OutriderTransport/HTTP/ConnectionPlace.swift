// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A place for a connection in the share of a client, taken until `giveBack`.
// proof: confined to the loop of its pool; other threads only carry the reference.
final class ConnectionPlace: @unchecked Sendable {
    let client: ClientKey
    private var pool: ConnectionPool?

    init(_ client: ClientKey, _ pool: ConnectionPool) {
        self.client = client
        self.pool = pool
    }

    /// Repeating the call has no effect.
    func giveBack() {
        guard let pool else { return }
        self.pool = nil
        pool.giveBack(client)
    }
}
