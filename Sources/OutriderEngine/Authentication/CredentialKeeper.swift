// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The credentials of one session, and what its requests have learned about where they are wanted. Shared by them all.
package final class CredentialKeeper: Sendable {
    private let spaces: Mutex<ProtectionSpaces>

    package init(_ entries: [ProtectionSpaces.Entry] = []) { spaces = Mutex(ProtectionSpaces(entries)) }

    /// Other credentials from now on: what was learned and kept is forgotten.
    package func replace(_ entries: [ProtectionSpaces.Entry]) { spaces.withLock { $0 = ProtectionSpaces(entries) } }

    package var isEmpty: Bool { spaces.withLock { $0.isEmpty } }

    /// For showing.
    package var entries: [ProtectionSpaces.Entry] { spaces.withLock { $0.entries } }

    func with<Value: Sendable>(_ work: (inout ProtectionSpaces) -> Value) -> Value {
        spaces.withLock { spaces in work(&spaces) }
    }
}
