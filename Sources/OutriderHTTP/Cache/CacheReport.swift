// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// What a cache did for one response: the `cache` member of a Response.
package final class CacheReport: Sendable {
    package enum Status: String, Sendable { case bypass, miss, hit, revalidated, stale, updating }

    package let status: Status
    /// Why the request went to the server; nil if it did not.
    package let forward: CacheForward?
    /// Seconds since the response was made or validated at its origin; nil if it came from there just now.
    package let age: Int64?
    /// Seconds for which it stays fresh; negative if it is stale.
    package let timeToLive: Int64?
    private let stored: Atomic<Bool>
    /// The report of the exchange that the request shares.
    private let exchange: CacheReport?
    /// Whether the request shared the exchange of another one.
    package let isCollapsed: Bool
    /// Why, for a person.
    package let reason: String?
    package let key: String?
    /// Milliseconds since 1970.
    package let storedAt: Int64?
    /// What caches on the way said (RFC 9211).
    package let upstream: [CacheStatus]
    /// Of the stored body, if the response has it whole; nil otherwise.
    package let check: JSONCheck?

    package init(
        _ status: Status, forward: CacheForward? = nil, age: Int64? = nil, timeToLive: Int64? = nil,
        isStored: Bool = false, isCollapsed: Bool = false, reason: String? = nil, key: String? = nil,
        storedAt: Int64? = nil, upstream: [CacheStatus] = [], check: JSONCheck? = nil, of exchange: CacheReport? = nil
    ) {
        self.status = status
        self.forward = forward
        self.age = age
        self.timeToLive = timeToLive
        stored = Atomic(isStored)
        self.exchange = exchange
        self.isCollapsed = isCollapsed
        self.reason = reason
        self.key = key
        self.storedAt = storedAt
        self.upstream = upstream
        self.check = check
    }

    /// Whether the response is in the cache, or will be after its end.
    package var isStored: Bool { exchange?.isStored ?? stored.load(ordering: .relaxed) }

    /// The response has ended, and is not in the cache.
    package func retract() { stored.store(false, ordering: .relaxed) }

    /// Whether the response came out of the store.
    package var isFromStore: Bool { status != .bypass && status != .miss }

    /// Whether the response came out of the store, and no server was asked: its cookies were taken when they came.
    package var isFromStoreAlone: Bool { isFromStore && forward == nil }
}
