// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Which entries are removed.
package enum CachePurge: Sendable {
    case all
    /// Those that are older than a moment, in milliseconds since 1970.
    case storedBefore(Int64)
    /// Those whose URL begins so.
    case prefix(String)
    case tag(String)
    /// A row.
    case number(Int64)

    /// The same for an entry in memory.
    package func matches(_ entry: CachedEntry) -> Bool {
        switch self {
        case .all: true
        case .storedBefore(let moment): entry.storedAt < moment
        case .prefix(let text): entry.url.hasPrefix(text)
        case .tag(let tag): entry.tags.contains(tag)
        case .number: false
        }
    }

    func apply(to changes: inout CacheDatabase.Changes) throws(SQLiteFailure) {
        switch self {
        case .all: try changes.remove("1")
        case .storedBefore(let moment): try changes.remove("storedAt < \(moment)")
        case .prefix(let text): try changes.remove("substr(url, 1, length(?1)) = ?1") { $0.bind(1, text) }
        case .tag(let tag):
            try changes.remove("id IN (SELECT entry FROM tag WHERE tag = ?)") { $0.bind(1, tag) }
        case .number(let number): try changes.remove("id = \(number)")
        }
    }
}

extension DiskCache {
    /// What waits to be written.
    enum Change {
        case put(CachedEntry)
        case remove(CacheEntryID)
        case removeKey(CacheDigest)
        case removeWhere(CachePurge)
        /// A row was used in this hour.
        case use(Int64)

        var isRemoval: Bool {
            switch self {
            case .put, .use: false
            case .remove, .removeKey, .removeWhere: true
            }
        }

        /// Whether an entry that is still on the disk is about to be removed.
        func removes(_ entry: CachedEntry) -> Bool {
            switch self {
            case .put, .use: false
            case .remove(let id): entry.id == id
            case .removeKey(let key): entry.id.key == key
            case .removeWhere(let purge): purge.matches(entry)
            }
        }
    }
}
