// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

extension ClientScope {
    /// The cache of that name, or else that of the session or the connection.
    func cache(named name: String?, maxBytes: Int?, of session: SessionRecord?) -> CacheStore {
        guard let name else { return (session?.cache ?? cache).store(maxBytes: maxBytes, of: share.user) }
        return share.caches.store(name, maxBytes: maxBytes, in: service.engine.settings.caches)
    }
}

extension RequestAssembly {
    /// Sets the cache of the request: the request's choice, or else the session's. Event streams use no cache, and
    /// downloads only their own choice; unsafe requests without a cache still remove responses from the session's. TCP
    /// streams neither use a cache nor remove responses.
    mutating func addCache(_ params: RequestParameters, _ call: Call<ClientScope>, opens: Bool) {
        let isWithout = params.isQuiet || params.cache == nil && params.spec.download != nil
        let isPlain = params.cache == nil && !isWithout && params.spec.method != "CONNECT"
        if isPlain, addSessionCache(call, opens: opens) { return }
        let earlier = session?.shared.settings.cache
        let given = params.cache.map { $0.applied(to: earlier) } ?? earlier
        guard var choice = given ?? earlier else { return }
        if params.spec.method == "CONNECT", choice.spec.mode != .onlyIfCached { return }
        // without the network there is nothing but the cache
        if given == nil || isWithout && choice.spec.mode != .onlyIfCached {
            if Invalidation.isSafe(params.spec.method) { return }
            choice.spec = CacheSpec(invalidating: choice.spec.ignoredQuery)
            choice.code = nil
        }
        guard let store = self.store(choice.name, maxBytes: choice.maxBytes, call.scope, opens: opens) else { return }
        if let code = choice.code {
            let runner = code == earlier?.code ? session?.shared.settings.cacherCode?.runner : nil
            choice.spec.cacher = .modify(
                registry.add(ClientDelegate.Code(spec: code, runner: runner ?? CallbackRunner(call))))
        }
        cache = call.scope.service.engine.binding(store, choice.spec)
    }

    /// Sets the session's cache as its settings say, for requests without a choice of their own. False if the settings
    /// have no cache, or a callback.
    private mutating func addSessionCache(_ call: Call<ClientScope>, opens: Bool) -> Bool {
        guard let shared = session?.shared, shared.hasPlainCache else { return false }
        let (name, maxBytes) = (shared.settings.cache?.name, shared.settings.cache?.maxBytes)
        guard let store = self.store(name, maxBytes: maxBytes, call.scope, opens: opens) else { return true }
        cache = shared.binding(of: store) {
            call.scope.service.engine.binding(store, shared.settings.cache?.spec ?? CacheSpec())
        }
        return true
    }

    /// The cache of that name, or else the session's own. Nil if the cache has to be opened first.
    private mutating func store(_ name: String?, maxBytes: Int?, _ scope: ClientScope, opens: Bool) -> CacheStore? {
        guard !opens, let name else { return scope.cache(named: name, maxBytes: maxBytes, of: session) }
        let ready = scope.share.caches.ready(name, maxBytes: maxBytes)
        if ready == nil { unopened = name }
        return ready
    }
}
