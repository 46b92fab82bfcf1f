// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
package import OutriderRPC

/// Sends events about credentials to clients.
package protocol CredentialWatchers: AnyObject, Sendable {
    /// Sends the client events about that credential from now on.
    func watch(_ name: String, _ peer: any Peer, _ owner: MonitorOwner)

    /// The same for a credential that the client has just made, beginning with the event of that.
    func watch(created credential: CredentialSnapshot, _ peer: any Peer, _ owner: MonitorOwner)
}
