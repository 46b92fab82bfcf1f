// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// Lookups: in memory, and then on the disk.
extension CacheStore {
    /// URLs whose keys are remembered, and the longest of them in bytes.
    private static let rememberedKeys = (count: 1024, bytes: 512)

    /// The key of a URL: a hash, which is remembered for the next requests.
    func key(of url: String) -> CacheDigest {
        if let known = state.withLock({ $0.keys[url] }) { return known }
        let key = secret.digest(url)
        guard url.utf8.count <= Self.rememberedKeys.bytes else { return key }
        state.withLock { state in
            if state.keys.count >= Self.rememberedKeys.count { state.keys = [:] }
            state.keys[url] = key
        }
        return key
    }

    /// Looks for the entry; `completion` may be called before this returns. On the loop, for both.
    func find(_ place: CachePlace, on loop: any EventLoop, _ completion: @escaping @Sendable (CacheFinding) -> Void) {
        let hot = findInMemory(place)
        guard let disk, hot.entry == nil else { return completion(hot) }
        let removals = state.withLock { $0.removals }
        let lookup = DiskCache.Lookup(key: place.key, principal: place.principal) { variant, names in
            place.variant(names) == variant
        } completion: { found in
            if let entry = found.entry, entry.body.isHot {
                self.state.withLock { state in
                    // an entry that came meanwhile is newer
                    let isNewer = state.table.entries(entry.id.key, entry.id.principal).contains { $0.id == entry.id }
                    if state.removals == removals, !isNewer { self.heat(entry, &state) }
                }
                self.budget.relieve(0, for: self)
            }
            loop.execute { completion(found) }
        }
        disk.find(lookup)
    }

    /// The body of an entry; nil if its file cannot be read. `completion` may be called before this returns. On the loop, for
    /// both.
    func read(_ entry: CachedEntry, on loop: any EventLoop, _ completion: @escaping @Sendable (ByteBuffer?) -> Void) {
        switch entry.body {
        case .memory(let bytes): completion(bytes)
        case .file(let name, let size):
            guard let disk else { return completion(nil) }
            disk.read(name, size: size, 0..<size) { result in
                let bytes = try? result.get().bytes
                loop.execute { completion(bytes.map { ByteBuffer(bytes: $0) }) }
            }
        }
    }

    func heat(_ entry: CachedEntry, _ state: inout State) {
        state.table.put(entry)
        evict(&state)
    }

    /// The entry in memory that the request selects.
    func findInMemory(_ place: CachePlace) -> CacheFinding {
        if let disk, disk.takeChange() { forgetMemory(disk) }
        return state.withLock { state in
            let hot = place.select(of: state.table.entries(place.key, place.principal))
            if let entry = hot.entry { state.table.touch(entry) }
            return hot
        }
    }

    /// Another process has changed the store: entries in memory may be removed by now.
    private func forgetMemory(_ disk: DiskCache) {
        let used = state.withLock { state in
            defer {
                _ = state.table.removeAll()
                charge(&state)
            }
            // what a lookup under way has read may be removed, too
            state.removals += 1
            return state.table.takeUsed()
        }
        disk.use(used)
    }

    /// The key of a URL with an entry in memory; nil for other URLs.
    func hotKey(of url: String) -> CacheDigest? {
        state.withLock { state in
            guard let key = state.keys[url], state.table.has(key) else { return nil }
            return key
        }
    }
}

extension CachePlace {
    /// The place of a request in a store.
    ///
    /// - Parameter known: the key of the URL, if known.
    init(
        _ attempt: Attempt, _ spec: CacheSpec, url known: (text: String, key: CacheDigest)? = nil, principal: String,
        isForAll: Bool, owners: [String], coding: String?, of store: CacheStore
    ) {
        let text = known?.text ?? CacheKey.text(attempt.url, ignoring: spec.ignoredQuery)
        self.init(
            attempt, spec, url: (text, known?.key ?? store.key(of: text)), principal: principal, isForAll: isForAll,
            owners: owners, coding: coding, secret: store.secret)
    }
}

extension CacheBinding {
    /// The place of a request with these credentials.
    ///
    /// - Parameter known: the key of the URL, if known.
    func place(
        of attempt: Attempt, _ stable: CachePrincipal.Stable, url known: (text: String, key: CacheDigest)? = nil
    ) -> CachePlace {
        let credentials = CachePrincipal.credentials(attempt, stable, named: spec.principal)
        return CachePlace(
            attempt, spec, url: known,
            principal: CachePrincipal.text(attempt, credentials: credentials, proxies: proxies)
                + (stable.certificate ?? ""),
            isForAll: credentials.isEmpty, owners: spec.principal == nil ? stable.owners : [], coding: coding,
            of: store)
    }
}
