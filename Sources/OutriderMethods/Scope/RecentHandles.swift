// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The latest requests of ended calls: kept for a while, for `request.get` and `request.curl`.
final class RecentHandles: Sendable {
    private struct Ring {
        var names: [String] = []
        var next = 0
    }

    /// The most requests per connection.
    private static let limit = 256

    private let ring = Mutex(Ring())

    /// Adds a request; returns the oldest beyond the limit, to be forgotten.
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
