// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The jar and the cache of a request: under a stage, those of the stage stand in for named ones.
extension Exchange {
    /// Nil if the request neither sends nor takes cookies.
    var cookies: ExchangeCookies? {
        guard let stage, let givenCookies else { return givenCookies }
        return givenCookies.with { stage.jar(for: $0) }
    }

    /// Nil for a request without a cache.
    var cache: CacheBinding? {
        guard let stage, let given = givenCache else { return givenCache }
        let store = stage.cache(for: given.store)
        return store === given.store
            ? given : CacheBinding(store, given.spec, coding: given.coding, proxies: given.proxies)
    }
}
