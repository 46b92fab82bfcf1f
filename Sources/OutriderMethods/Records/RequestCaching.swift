// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

extension CacheChoice {
    /// The chosen cache.
    func store(_ session: SessionRecord?, _ scope: ClientScope) -> CacheStore {
        guard let name else { return (session?.cache ?? scope.cache).store(maxBytes: maxBytes, of: scope.share.user) }
        return scope.share.caches.store(name, maxBytes: maxBytes, in: scope.service.engine.settings.caches)
    }
}

extension RequestAssembly {
    /// Sets the cache of the request: the request's choice, or else the session's. Event streams use no cache, and
    /// downloads only their own choice; unsafe requests without a cache still remove responses from the session's. TCP
    /// streams neither use a cache nor remove responses.
    mutating func addCache(_ params: RequestParameters, _ call: Call<ClientScope>, opens: Bool) {
        let earlier = session?.shared.settings.cache
        let given = params.cache.map { $0.applied(to: earlier) } ?? earlier
        let isWithout = params.isQuiet || params.cache == nil && params.spec.download != nil
        guard var choice = given ?? earlier else { return }
        if params.spec.method == "CONNECT", choice.spec.mode != .onlyIfCached { return }
        // without the network there is nothing but the cache
        if given == nil || isWithout && choice.spec.mode != .onlyIfCached {
            if Invalidation.isSafe(params.spec.method) { return }
            choice.spec = CacheSpec(invalidating: choice.spec.ignoredQuery)
            choice.code = nil
        }
        if !opens, let name = choice.name, !call.scope.share.caches.isReady(name) {
            unopened = name
            return
        }
        if let code = choice.code {
            let runner = code == earlier?.code ? session?.shared.settings.cacherCode?.runner : nil
            choice.spec.cacher = .modify(
                registry.add(ClientDelegate.Code(spec: code, runner: runner ?? CallbackRunner(call))))
        }
        let store = choice.store(session, call.scope)
        cache = call.scope.service.engine.binding(store, choice.spec)
    }
}
