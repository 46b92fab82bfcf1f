// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// The jar and the cache of a request: under a stage, those of the stage stand in for named ones.
extension Exchange {
    /// Nil if the request neither sends nor takes cookies.
    var cookies: ExchangeCookies? {
        guard let stage, let givenCookies else { return givenCookies }
        return givenCookies.with { stage.jar(for: $0) }
    }

    /// Nil for a request without a cache.
    var cache: CacheBinding? {
        guard let given = givenCache, !given.spec.isUnused else { return nil }
        guard let stage else { return given }
        let store = stage.cache(for: given.store)
        return store === given.store
            ? given : CacheBinding(store, given.spec, coding: given.coding, proxies: given.proxies)
    }

    /// Removes what the response to an unsafe request that does not use its cache makes invalid (RFC 9111 section 4.4).
    func invalidate(by response: AttemptResponse, to attempt: Attempt) {
        guard let given = givenCache, given.spec.isUnused else { return }
        let invalidation = Invalidation(
            method: attempt.method, url: attempt.url, status: response.status, response.fields)
        let store = stage?.cache(for: given.store) ?? given.store
        store.invalidate(invalidation, ignoring: given.spec.ignoredQuery)
        tell(invalidation, in: store)
    }
}
