// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// The named caches of a user.
final class NamedCaches: Sendable {
    private struct Open {
        var store: CacheStore
        /// Grows with each use of any cache.
        var lastUse: Int
        /// Of a cache without a directory: when the directory is tried again.
        var retryAt: ContinuousClock.Instant?

        /// Whether a directory is to be tried now.
        var isDue: Bool { retryAt.map { ContinuousClock.now >= $0 } ?? store.isLost }
    }

    private struct State {
        var stores: [String: Open] = [:]
        var uses = 0
        /// Closed stores that still write.
        var closing: [Int: Task<Void, Never>] = [:]
        /// The limits of closed caches, by name.
        var limits: [String: CacheLimits] = [:]
    }

    private let state = Mutex(State())
    private let user: Int?
    private let isOnDisk: Bool

    /// - Parameters:
    ///   - user: the user whose share of the memory counts.
    ///   - isOnDisk: false for users other than the service's own, whose disk is not for others.
    init(of user: Int?, isOnDisk: Bool) { (self.user, self.isOnDisk) = (user, isOnDisk) }

    /// The limit of open caches per user.
    static let most = 64
    /// The limit of closed caches whose limits are remembered.
    private static let mostRemembered = 1024

    /// The cache of that name, opened on first use. If too many are open, the cache whose last use is longest ago is closed:
    /// its requests go on, and a later use opens the cache again.
    ///
    /// Blocks for a moment unless `isOpen` holds.
    ///
    /// - Parameter root: the directory of caches on disk; nil for the default.
    func store(_ name: String, maxBytes: Int?, in root: String?) -> CacheStore {
        if let store = state.withLock({ Self.use(name, maxBytes, &$0) }) { return store }
        // without the lock: other caches stay usable while a disk is slow
        let known = state.withLock { $0.limits[name] }
        let fresh = open(name, maxBytes: maxBytes, known, in: root)
        return state.withLock { state in
            // another thread may have opened the cache meanwhile
            if let store = Self.use(name, maxBytes, &state) { return store }
            if state.stores.count >= Self.most, let last = state.stores.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.stores[last.key] = nil
                close(last.value.store, &state)
            }
            state.stores[name] = Open(store: fresh, lastUse: state.uses, retryAt: retry(fresh))
            return fresh
        }
    }

    /// The cache of that name, used now, if it is open and no directory is to be tried again.
    func ready(_ name: String, maxBytes: Int?) -> CacheStore? {
        state.withLock { Self.use(name, maxBytes, &$0, evenIfDue: false) }
    }

    /// The open cache of that name.
    private static func use(
        _ name: String, _ maxBytes: Int?, _ state: inout State, evenIfDue: Bool = true
    ) -> CacheStore? {
        state.uses += 1
        guard let place = state.stores.index(forKey: name) else { return nil }
        let open = state.stores.values[place]
        guard evenIfDue || !open.isDue else { return nil }
        state.stores.values[place].lastUse = state.uses
        if let maxBytes { open.store.change(maxBytes: maxBytes) }
        return open.store
    }

    func isOpen(_ name: String) -> Bool { state.withLock { $0.stores[name] != nil } }

    /// Whether the cache is open, and no directory is to be tried again.
    private func isReady(_ name: String) -> Bool {
        state.withLock { $0.stores[name] }.map { !$0.isDue } ?? false
    }

    /// Opens the cache away from the event loop, unless it is open.
    func prepare(_ name: String, in root: String?) async {
        guard !isReady(name) else { return }
        await offLoop(owedTo: .service) {
            if self.isOpen(name) { return self.reopen(name, in: root) }
            _ = self.store(name, maxBytes: nil, in: root)
        }
    }

    /// Tries the directory again of a cache that is in memory for want of it, or whose directory was removed or
    /// replaced. Blocks for a moment.
    private func reopen(_ name: String, in root: String?) {
        let known = state.withLock { state -> CacheLimits? in
            guard let store = state.stores[name]?.store else { return nil }
            state.stores[name]?.retryAt = retry(store)
            var limits = store.limits
            if store.path == nil, limits.maxBytes == CacheLimits().maxBytes { limits.maxBytes = Self.bytesOnDisk }
            return limits
        }
        let fresh = open(name, maxBytes: nil, known, in: root)
        guard fresh.path != nil else { return }
        state.withLock { state in
            state.uses += 1
            guard let old = state.stores[name], old.retryAt != nil else { return close(fresh, &state) }
            state.stores[name] = Open(store: fresh, lastUse: old.lastUse)
            close(old.store, &state)
        }
    }

    /// Seconds until the directory of a cache is tried again.
    private static let retrySeconds = 1

    /// Nil for a cache that has its directory, and for one that belongs in memory.
    private func retry(_ store: CacheStore) -> ContinuousClock.Instant? {
        isOnDisk && (store.path == nil || store.isLost) ? ContinuousClock.now + .seconds(Self.retrySeconds) : nil
    }

    /// Whether the cache is open or on disk: an open cache whose directory was removed is neither. A cache in memory
    /// needs no disk, and counts as existing.
    func exists(_ name: String, in root: String?) async -> Bool {
        if !isOnDisk || state.withLock({ $0.stores[name] })?.store.isLost == false { return true }
        return await offLoop(owedTo: .service) { DiskCache.exists(name, in: root) }
    }

    /// An empty cache for calls that read a cache which does not exist: nothing is made on disk. An open cache whose
    /// directory was removed tells so itself.
    func empty(_ name: String) -> CacheStore {
        let (lost, known) = state.withLock { ($0.stores[name]?.store, $0.limits[name]) }
        if let lost { return lost }
        return CacheStore(name: name, known ?? CacheLimits(maxBytes: Self.bytesOnDisk), user: user)
    }

    /// Closes a store in the background; the end of the service waits for it.
    private func close(_ store: CacheStore, _ state: inout State) {
        if let name = store.name, state.limits[name] != nil || state.limits.count < Self.mostRemembered {
            state.limits[name] = store.limits
        }
        let number = state.uses
        state.closing[number] = Task {
            await store.close()
            self.state.withLock { $0.closing[number] = nil }
        }
    }

    /// The default size of a cache on disk.
    private static let bytesOnDisk = 256 << 20

    /// A cache on disk; in memory, if its directory cannot be used.
    ///
    /// - Parameter known: the limits of the cache when it was closed.
    private func open(_ name: String, maxBytes: Int?, _ known: CacheLimits?, in root: String?) -> CacheStore {
        guard isOnDisk else {
            return CacheStore(
                name: name, CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes),
                problem: "caches on disk belong to the user of the service", user: user)
        }
        var limits = known ?? CacheLimits(maxBytes: Self.bytesOnDisk)
        if let maxBytes { limits.maxBytes = maxBytes }
        do throws(CacheStoreFailure) {
            let disk = try DiskCache(name, in: root, limits)
            return CacheStore(name: name, limits, secret: disk.secret, disk: disk, user: user)
        } catch {
            return CacheStore(
                name: name, CacheLimits(maxBytes: min(limits.maxBytes, CacheLimits().maxBytes)), problem: error.message,
                user: user)
        }
    }

    /// Writes pending data to disk. A busy store does not delay the others.
    func close() async {
        let (stores, closing) = state.withLock { ($0.stores.values.map(\.store), Array($0.closing.values)) }
        await withTaskGroup { group in
            for store in stores { group.addTask { await store.close() } }
            for task in closing { group.addTask { await task.value } }
        }
    }
}

/// The cache of a session, or of a client's requests without a session.
final class OwnCache: Sendable {
    private let store = Mutex<CacheStore?>(nil)
    private let isShared: Bool

    /// - Parameter isShared: whether several clients use the session.
    init(isShared: Bool = false) { self.isShared = isShared }

    /// The cache, made on first use.
    ///
    /// - Parameter user: the user whose share of the memory counts.
    func store(maxBytes: Int?, of user: Int?) -> CacheStore {
        store.withLock { store in
            if let store {
                if let maxBytes { store.change(maxBytes: maxBytes) }
                return store
            }
            let made = CacheStore(
                CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes), isShared: isShared, user: user)
            store = made
            return made
        }
    }
}
