// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

extension CacheChoice {
    /// The cache that is meant. Throws `tooMany`.
    func store(_ session: SessionRecord?, _ scope: ClientScope) throws(RPCError) -> CacheStore {
        guard let name else { return (session?.cache ?? scope.cache).store(maxBytes: maxBytes) }
        return try scope.share.caches.store(name, maxBytes: maxBytes, scope.service)
    }
}

extension RequestAssembly {
    /// The cache of the request: its own word over that of its session. Nil without one, for event streams, and for downloads
    /// that do not ask for it themselves.
    static func cache(
        _ params: RequestParameters, _ session: SessionRecord?, _ scope: ClientScope
    ) throws(RPCError) -> CacheBinding? {
        if params.isQuiet { return nil }
        if params.cache == nil, params.spec.download != nil { return nil }
        let earlier = session?.settings.cache
        let choice = params.cache.map { $0.applied(to: earlier) } ?? earlier
        guard let choice else { return nil }
        let store = try choice.store(session, scope)
        return scope.service.engine.binding(store, choice.spec)
    }
}
