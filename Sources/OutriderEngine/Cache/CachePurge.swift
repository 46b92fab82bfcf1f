// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A selection of entries to remove.
package enum CachePurge: Sendable {
    case all
    /// Entries older than a moment, in milliseconds since 1970.
    case storedBefore(Int64)
    /// Entries whose URL begins with the text.
    case prefix(String)
    case tag(String)
    /// A row.
    case number(Int64)

    /// Whether the purge selects an entry in memory.
    package func matches(_ entry: CachedEntry) -> Bool {
        switch self {
        case .all: true
        case .storedBefore(let moment): entry.storedAt < moment
        case .prefix(let text): entry.url.utf8.starts(with: text.utf8)
        case .tag(let tag): entry.has(tag)
        case .number: false
        }
    }

    /// The rows of the purge.
    var rows: CacheDatabase.Selection {
        switch self {
        case .all: .init("1")
        case .storedBefore(let moment): .init("storedAt < \(moment)", isScan: true)
        case .prefix(let text): .init("substr(url, 1, length(?1)) = ?1", isScan: true) { $0.bind(1, text) }
        case .tag(let tag): .init("id IN (SELECT entry FROM tag WHERE tag = ?1)") { $0.bind(1, tag) }
        case .number(let number): .init("id = \(number)")
        }
    }
}
