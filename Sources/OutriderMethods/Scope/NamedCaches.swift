// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// The named caches of a user.
final class NamedCaches: Sendable {
    private let stores = Mutex<[String: CacheStore]>([:])
    private let user: Int?
    private let isOnDisk: Bool

    /// - Parameters:
    ///   - user: the user whose share of the memory counts.
    ///   - isOnDisk: false for users other than the service's own, whose disk is not for others.
    init(of user: Int?, isOnDisk: Bool) { (self.user, self.isOnDisk) = (user, isOnDisk) }

    /// The most names per user.
    static let most = 64

    /// The cache of that name, made on first use. Throws `tooMany`.
    func store(_ name: String, maxBytes: Int?, _ service: Service) throws(RPCError) -> CacheStore {
        try stores.withLock { stores throws(RPCError) in
            if let store = stores[name] {
                if let maxBytes { store.change(maxBytes: maxBytes) }
                return store
            }
            guard stores.count < Self.most else {
                throw RPCError(
                    .tooMany, "\(Self.most) named caches are open already: use one of them",
                    data: ["pointer": .string("/cache")])
            }
            let store = open(name, maxBytes: maxBytes, in: service.engine.settings.caches)
            stores[name] = store
            return store
        }
    }

    /// The default size of a cache on disk.
    private static let bytesOnDisk = 256 << 20

    /// A cache on disk; in memory, if its directory cannot be used.
    private func open(_ name: String, maxBytes: Int?, in root: String?) -> CacheStore {
        guard isOnDisk else {
            return CacheStore(
                name: name, CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes),
                problem: "caches on disk belong to the user of the service", user: user)
        }
        let limits = CacheLimits(maxBytes: maxBytes ?? Self.bytesOnDisk)
        do throws(CacheStoreFailure) {
            let disk = try DiskCache(name, in: root, limits)
            return CacheStore(name: name, limits, secret: disk.secret, disk: disk, user: user)
        } catch {
            return CacheStore(
                name: name, CacheLimits(maxBytes: min(limits.maxBytes, CacheLimits().maxBytes)), problem: error.message,
                user: user)
        }
    }

    /// Writes pending data to disk.
    func close() async { for store in stores.withLock({ Array($0.values) }) { await store.close() } }
}

/// The cache of a session, or of a client's requests without a session.
final class OwnCache: Sendable {
    private let store = Mutex<CacheStore?>(nil)

    /// The cache, made on first use.
    ///
    /// - Parameter user: the user whose share of the memory counts.
    func store(maxBytes: Int?, of user: Int?) -> CacheStore {
        store.withLock { store in
            if let store {
                if let maxBytes { store.change(maxBytes: maxBytes) }
                return store
            }
            let made = CacheStore(CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes), user: user)
            store = made
            return made
        }
    }

    /// Nil before the first use.
    var current: CacheStore? { store.withLock { $0 } }
}
