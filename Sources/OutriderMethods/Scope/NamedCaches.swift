// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// The named caches of one user.
final class NamedCaches: Sendable {
    private let stores = Mutex<[String: CacheStore]>([:])

    /// More names are refused.
    static let most = 64

    /// The cache of that name, made when first asked for. Throws `tooMany`.
    func store(_ name: String, maxBytes: Int?, _ service: Service) throws(RPCError) -> CacheStore {
        try stores.withLock { stores throws(RPCError) in
            if let store = stores[name] {
                if let maxBytes { store.change(CacheLimits(maxBytes: maxBytes)) }
                return store
            }
            guard stores.count < Self.most else {
                throw RPCError(
                    .tooMany, "\(Self.most) named caches are open already: use one of them",
                    data: ["pointer": .string("/cache")])
            }
            let store = CacheStore(name: name, CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes))
            stores[name] = store
            return store
        }
    }

    var all: [CacheStore] { stores.withLock { Array($0.values) } }
}

/// The cache of one session, or of the requests of one client that belong to no session.
final class OwnCache: Sendable {
    private let store = Mutex<CacheStore?>(nil)

    /// The cache, made when first asked for.
    func store(maxBytes: Int?) -> CacheStore {
        store.withLock { store in
            if let store {
                if let maxBytes { store.change(CacheLimits(maxBytes: maxBytes)) }
                return store
            }
            let made = CacheStore(CacheLimits(maxBytes: maxBytes ?? CacheLimits().maxBytes))
            store = made
            return made
        }
    }

    /// Nil if no request has used it.
    var current: CacheStore? { store.withLock { $0 } }
}
