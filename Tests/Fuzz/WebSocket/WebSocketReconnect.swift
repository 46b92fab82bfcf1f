// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The part that the handshake needs. The whole one brings retries with it.
package enum WebSocketReconnect {
    package static let passing: Set<Int> = [503]
}
