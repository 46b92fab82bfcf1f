// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The credentials of a session, and the protection spaces that its requests have learned. Shared by all its requests.
package final class SessionCredentials: Sendable {
    private let spaces: Mutex<ProtectionSpaces>

    package init(_ entries: [ProtectionSpaces.Entry] = []) { spaces = Mutex(ProtectionSpaces(entries)) }

    /// Replaces the credentials: all learned and kept state is forgotten.
    package func replace(_ entries: [ProtectionSpaces.Entry]) { spaces.withLock { $0 = ProtectionSpaces(entries) } }

    package var isEmpty: Bool { spaces.withLock { $0.isEmpty } }

    /// For display.
    package var entries: [ProtectionSpaces.Entry] { spaces.withLock { $0.entries } }

    func with<Value: Sendable>(_ work: (inout ProtectionSpaces) -> Value) -> Value {
        spaces.withLock { spaces in work(&spaces) }
    }
}
