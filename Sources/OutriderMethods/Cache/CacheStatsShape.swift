// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON

/// How a cache stands: the CacheStats of the contract.
struct CacheStatsShape: ObjectShape {
    var store: CacheStore
    var used: (bytes: Int, entries: Int)

    init(_ store: CacheStore) async {
        self.store = store
        used = await store.usedNow()
    }

    func encodeMembers(to writer: inout JSONWriter) {
        let counts = store.counts
        writer.member("cache", store.name)
        writer.member("bytes", used.bytes)
        writer.member("entries", used.entries)
        writer.member("maxBytes", store.limits.maxBytes)
        writer.member("maxEntries", store.limits.maxEntries)
        writer.member("maxEntryBytes", store.limits.longestBody)
        writer.member("hits", counts.hits)
        writer.member("misses", counts.misses)
        writer.member("revalidated", counts.revalidated)
        writer.member("stale", counts.stale)
        writer.member("collapsed", counts.collapsed)
        writer.member("stored", counts.stored)
        writer.member("evicted", counts.evicted)
        writer.member("invalidated", counts.invalidated)
        writer.member("path", store.path)
        writer.member("problem", store.problem)
    }
}
