// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The bytes that several caches may hold together: their entries, and bodies on their way into them.
package final class CacheBudget: Sendable {
    /// For all caches of the process: 256 MiB.
    package static let process = CacheBudget(256 << 20)

    private let most: Int
    private let used = Atomic(0)

    package init(_ most: Int) { self.most = most }

    /// Takes so many bytes if there is room for them.
    func take(_ bytes: Int) -> Bool {
        let (_, now) = used.wrappingAdd(bytes, ordering: .relaxed)
        guard now > most else { return true }
        add(-bytes)
        return false
    }

    /// Counts bytes that are held already; a negative number gives bytes back.
    func add(_ bytes: Int) { used.wrappingAdd(bytes, ordering: .relaxed) }

    /// The bytes that are held beyond the limit.
    var excess: Int { max(0, used.load(ordering: .relaxed) &- most) }
}
