// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The jars and caches of a stage, in memory, in place of named jars and caches: cookies and responses of a cassette or a
/// stub reach neither the disk nor requests outside of the stage.
struct StageMemory: Sendable {
    /// The named jar or cache is kept, so that its identity stays taken.
    private var jars: [ObjectIdentifier: (named: SharedJar, own: SharedJar)] = [:]
    private var caches: [ObjectIdentifier: (named: CacheStore, own: CacheStore)] = [:]

    /// Beyond this number all are forgotten.
    private static let most = 64

    /// The jar in place of the named jar, with the cookies of the named jar at first.
    mutating func jar(for named: SharedJar) -> SharedJar {
        if let found = jars[ObjectIdentifier(named)] { return found.own }
        if jars.count >= Self.most { jars = [:] }
        let own = named.copy()
        jars[ObjectIdentifier(named)] = (named, own)
        return own
    }

    /// The cache in place of the named cache; empty at first.
    mutating func cache(for named: CacheStore) -> CacheStore {
        if let found = caches[ObjectIdentifier(named)] { return found.own }
        if caches.count >= Self.most { caches = [:] }
        var limits = named.limits
        limits.maxEntryBytes = limits.longestBody
        // memory has less room than a disk
        limits.maxBytes = min(limits.maxBytes, CacheLimits().maxBytes)
        let own = CacheStore(name: named.name, limits, budget: named.budget)
        caches[ObjectIdentifier(named)] = (named, own)
        return own
    }
}

extension ReplayStage {
    /// The jar that requests use: while the stage plays, a jar in memory in place of a named jar.
    package func jar(for jar: SharedJar) -> SharedJar {
        guard jar.name != nil else { return jar }
        let below = base?.jar(for: jar) ?? jar
        return playsItself ? memory.withLock { $0.jar(for: below) } : below
    }

    /// The cache that requests use: a cache in memory in place of a named cache, so that a recording is complete, too.
    package func cache(for cache: CacheStore) -> CacheStore {
        guard cache.name != nil else { return cache }
        let below = base?.cache(for: cache) ?? cache
        return playsItself || tape != nil ? memory.withLock { $0.cache(for: below) } : below
    }

    /// Whether this stage may have responses, without the stages below it.
    private var playsItself: Bool { !hasNoStubs || (tape?.plays ?? isClosed) }
}
