// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The latest requests of ended calls: kept for a while, for `request.get` and `request.curl`.
final class RecentHandles: Sendable {
    private struct Entry {
        /// Nil once forgotten.
        var name: String?
        var bytes: Int
    }

    private struct Ring {
        var entries: [Entry] = []
        /// The oldest entry of a full ring.
        var next = 0
        var bytes = 0

        /// Adds an entry; returns the oldest beyond the limit.
        mutating func push(_ entry: Entry) -> String? {
            bytes &+= entry.bytes
            if entries.count < RecentHandles.limit {
                entries.append(entry)
                return nil
            }
            defer {
                entries[next] = entry
                next = (next &+ 1) % RecentHandles.limit
            }
            bytes &-= entries[next].bytes
            return entries[next].name
        }

        /// Takes out the oldest entry with memory, while all of them together have too much.
        mutating func shed() -> String? {
            guard bytes > RecentHandles.mostBytes else { return nil }
            for step in entries.indices {
                let place = (next &+ step) % entries.count
                guard entries[place].bytes > 0 else { continue }
                bytes &-= entries[place].bytes
                defer { entries[place] = Entry(name: nil, bytes: 0) }
                return entries[place].name
            }
            return nil
        }
    }

    /// The most requests per connection.
    private static let limit = 256
    /// The most memory of these requests: half of that which a client always has for its requests.
    private static let mostBytes = 512 << 10

    private let ring = Mutex(Ring())

    /// Adds a request that keeps so many counted bytes.
    ///
    /// - Parameter forget: gets the oldest requests beyond the limits.
    func add(_ name: String, _ bytes: Int, forget: (String) -> Void) {
        if let oldest = ring.withLock({ $0.push(Entry(name: name, bytes: bytes)) }) { forget(oldest) }
        guard bytes > 0 else { return }
        while let oldest = ring.withLock({ $0.shed() }) { forget(oldest) }
    }
}
