// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The streams of all connections by their unguessable names: a second connection of the same user may carry the bytes
/// of a stream.
final class StreamIndex: Sendable {
    private struct Entry {
        weak var stream: (any Holdable)?
        var user: Int?
    }

    private let entries = Mutex<[String: Entry]>([:])

    func add(_ stream: any Holdable, _ name: String, _ user: Int?) {
        entries.withLock { $0[name] = Entry(stream: stream, user: user) }
    }

    func remove(_ names: [String]) {
        entries.withLock { entries in
            for name in names { entries[name] = nil }
        }
    }

    /// Nil if the name is unknown, or belongs to another user.
    func find(_ name: String, user: Int?) -> (any Holdable)? {
        entries.withLock { entries in
            guard let entry = entries[name], entry.user == user else { return nil }
            return entry.stream
        }
    }
}
