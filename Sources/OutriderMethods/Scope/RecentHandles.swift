// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The latest requests of calls that are over: known for a while, so that `request.get` and `request.curl` can show them.
final class RecentHandles: Sendable {
    private struct Ring {
        var names: [String] = []
        var next = 0
    }

    /// How many are remembered per connection.
    private static let limit = 256

    private let ring = Mutex(Ring())

    /// Remembers one more; returns the one to forget for it.
    func add(_ name: String) -> String? {
        ring.withLock { ring in
            if ring.names.count < Self.limit {
                ring.names.append(name)
                return nil
            }
            defer { ring.next = (ring.next + 1) % Self.limit }
            let oldest = ring.names[ring.next]
            ring.names[ring.next] = name
            return oldest
        }
    }
}
