// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a cache is asked to do for a request or a session: the `cache` member of both.
package struct CacheSpec: Sendable, Equatable {
    /// How stored responses are used; the policies of URLRequest have other names for them.
    package enum Mode: String, Sendable, CaseIterable {
        /// By RFC 9111.
        case `default`
        /// Nothing stored is used or sent as a condition; the response is stored.
        case reload
        /// Stored responses are revalidated, fresh ones too, unless they are `immutable`.
        case noCache
        /// A stored response of any age, else the server's.
        case forceCache
        /// A stored response of any age, else the failure `notCached`.
        case onlyIfCached
        /// Nothing is read or stored.
        case noStore
    }

    /// Which responses are stored.
    package enum Keep: String, Sendable, CaseIterable {
        /// Those with Cache-Control, Expires or a validator.
        case useful
        /// All with a status of 2xx as well.
        case all
    }

    /// What becomes of a response that may be stored.
    package enum Cacher: Sendable, Equatable {
        case cache, doNotCache
        /// The client's own code decides, under this key of its delegate.
        case modify(String)
    }

    package var mode = Mode.default
    /// The lifetime of responses that name none, in seconds; nil for the heuristic.
    package var maxAge: Int64?
    /// For so many seconds a stale response stands in for a failure; nil for what the response says.
    package var staleIfError: Int64?
    /// Names of query parameters that the key leaves out.
    package var ignoredQuery: [String] = []
    /// Names of request fields that belong to the key.
    package var vary: [String] = []
    /// In place of the credentials that the request carries.
    package var principal: String?
    package var tags: [String] = []
    /// How long a request waits for the same request of another client, in seconds; nil for not at all.
    package var collapse: Double? = 10
    package var keep = Keep.useful
    package var cacher = Cacher.cache
    /// Entries of a cache on disk stay in memory.
    package var isMemoryOnly = false
    /// Of a retry, the time of the response that it follows, in milliseconds since 1970: stored responses up to then are not
    /// used without the server.
    package var refusedAt: Int64?

    /// The request does not use the cache, but makes stored responses invalid.
    package private(set) var isUnused = false

    package init() {}

    /// For an unsafe request that does not use the cache.
    package init(invalidating ignoredQuery: [String]) {
        (self.ignoredQuery, isUnused) = (ignoredQuery, true)
    }
}
