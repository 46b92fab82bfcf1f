// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderRPC

/// Who hears of what happens to credentials.
package protocol CredentialWatchers: AnyObject, Sendable {
    /// From now on the client hears of that credential.
    func watch(_ name: String, _ peer: any Peer, _ owner: MonitorOwner)
}
