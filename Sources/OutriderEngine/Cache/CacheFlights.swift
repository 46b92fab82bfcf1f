// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The cache that a request uses, and its options.
package final class CacheBinding: Sendable {
    package let store: CacheStore
    package let spec: CacheSpec
    /// The Accept-Encoding that the service itself sends.
    let coding: String?
    /// The proxies that the service uses by itself.
    let proxies: ProxyRules?

    package init(_ store: CacheStore, _ spec: CacheSpec, coding: String?, proxies: ProxyRules?) {
        self.store = store
        self.spec = spec
        self.coding = coding
        self.proxies = proxies
    }

    /// The same for a retry after a response of that moment.
    func retrying(after moment: Int64) -> CacheBinding {
        var spec = spec
        spec.refusedAt = moment
        return CacheBinding(store, spec, coding: coding, proxies: proxies)
    }
}

/// The exchanges of a cache that requests may share, by URL, principal and variant.
// proof: the lock is held for single steps; flights are used on the shared loop of the transport only.
final class CacheFlights: @unchecked Sendable {
    struct Key: Hashable {
        var key: CacheDigest
        var principal: CacheDigest
        /// Of the fields that Vary is known to name; empty until a response has come.
        var variant: CacheDigest
    }

    private struct State {
        /// Several for a key, the oldest first: requests that ask other things of caches share no exchange.
        var flights: [Key: [CacheFlight]] = [:]
        /// The names in the Vary of the last response for a URL.
        var names: [CacheDigest: [String]] = [:]
        /// Responses that could not be shared, with the time until which their requests go alone.
        var alone: [Key: ContinuousClock.Instant] = [:]
        /// Revalidations in the background that wait for a turn.
        var waits: Set<Wait> = []
        /// URLs that were invalidated while an exchange was under way, with a number that grows.
        var serial = 0
        var invalidated: [CacheDigest: Int] = [:]
        /// Purges of entries meanwhile, with their numbers.
        var purges: [(serial: Int, purge: CachePurge)] = []
        /// When the responses came that were stored while exchanges were under way, in milliseconds since 1970.
        var stored: [CacheEntryID: Int64] = [:]
        /// Invalidations up to this number count for every URL: their URLs are forgotten.
        var forgotten = 0
        var under = 0
    }

    /// Further exchanges of a key push the oldest out of the table.
    private static let mostFlights = 16
    /// More than these are forgotten.
    private static let mostRemembered = 4096
    /// The time for which requests for such a response go alone.
    private static let aloneTime: Duration = .seconds(30)

    private let state = Mutex(State())

    /// The names of fields that are known to select responses of the URL.
    func names(for key: CacheDigest) -> [String] { state.withLock { $0.names[key] ?? [] } }

    func key(of place: CachePlace) -> Key {
        Key(key: place.key, principal: place.principal, variant: place.variant(names(for: place.key)))
    }

    /// The exchanges under way, the oldest first.
    func find(_ key: Key) -> [CacheFlight] { state.withLock { $0.flights[key] ?? [] } }

    func isAlone(_ key: Key) -> Bool {
        state.withLock { state in
            guard let end = state.alone[key] else { return false }
            if end > .now { return true }
            state.alone[key] = nil
            return false
        }
    }

    func add(_ flight: CacheFlight, as key: Key) {
        state.withLock { state in
            let others = (state.flights[key] ?? []).suffix(Self.mostFlights - 1)
            state.flights[key] = others + [flight]
        }
    }

    func remove(_ flight: CacheFlight, _ key: Key) {
        state.withLock { state in
            let others = (state.flights[key] ?? []).filter { $0 !== flight }
            state.flights[key] = others.isEmpty ? nil : others
        }
    }

    /// A revalidation in the background that waits for a turn of that session.
    struct Wait: Hashable {
        var key: Key
        var gate: ObjectIdentifier
    }

    /// False if one waits already.
    func begin(_ wait: Wait) -> Bool { state.withLock { $0.waits.insert(wait).inserted } }

    func end(_ wait: Wait) { state.withLock { _ = $0.waits.remove(wait) } }

    func markAlone(_ key: Key) {
        state.withLock { state in
            if state.alone.count >= Self.mostRemembered { state.alone = [:] }
            state.alone[key] = .now + Self.aloneTime
        }
    }

    /// What Vary of a response names; returns whether that is news.
    func learn(_ names: [String], for key: CacheDigest) -> Bool {
        state.withLock { state in
            guard (state.names[key] ?? []) != names else { return false }
            if state.names.count >= Self.mostRemembered { state.names = [:] }
            state.names[key] = names.isEmpty ? nil : names
            return true
        }
    }

    /// Whether no later response was stored in the place of the entry during its exchange; the entry is stored then.
    func isLatest(_ entry: CachedEntry) -> Bool {
        state.withLock { state in
            if let other = state.stored[entry.id], other > entry.head.respondedAt { return false }
            if state.stored.count >= Self.mostRemembered { state.stored = [:] }
            state.stored[entry.id] = entry.head.respondedAt
            return true
        }
    }

    /// Whether a later response was stored in the place of the entry while exchanges were under way.
    func isReplaced(_ entry: CachedEntry) -> Bool {
        state.withLock { $0.stored[entry.id].map { $0 > entry.head.respondedAt } ?? false }
    }

    // MARK: invalidation

    /// An exchange begins that may store something; returns the number to compare at its end.
    func begin() -> Int {
        state.withLock { state in
            state.under += 1
            return state.serial
        }
    }

    /// The number of the last invalidation.
    var serial: Int { state.withLock { $0.serial } }

    func end() {
        state.withLock { state in
            state.under -= 1
            if state.under == 0 { (state.invalidated, state.purges, state.stored) = ([:], [], [:]) }
        }
    }

    /// Whether the URL was invalidated since the exchange with that number began.
    func isInvalidated(_ key: CacheDigest, since serial: Int) -> Bool {
        state.withLock { max($0.invalidated[key] ?? 0, $0.forgotten) > serial }
    }

    private static let mostPurges = 64

    /// Entries are removed by another selection than their URL: exchanges under way are not joined any more.
    func purge(_ purge: CachePurge) {
        state.withLock { state in
            state.flights = [:]
            guard state.under > 0 else { return }
            state.serial += 1
            state.purges.append((state.serial, purge))
            if state.purges.count > Self.mostPurges {
                state.purges = []
                state.forgotten = state.serial
            }
        }
    }

    /// Whether a purge since the exchange with that number began selects its entry.
    func isPurged(_ entry: CachedEntry, since serial: Int) -> Bool {
        state.withLock { state in
            state.forgotten > serial || state.purges.contains { $0.serial > serial && $0.purge.matches(entry) }
        }
    }

    /// The URL is invalidated: exchanges under way for the URL store nothing, and no request joins them.
    func unkey(_ key: CacheDigest) {
        state.withLock { state in
            state.flights = state.flights.filter { $0.key.key != key }
            guard state.under > 0 else { return }
            state.serial += 1
            if state.invalidated.count >= Self.mostRemembered {
                state.invalidated = [:]
                state.forgotten = state.serial
            }
            state.invalidated[key] = state.serial
        }
    }
}

extension CacheFlight {
    /// The request of a flight.
    struct Order {
        var attempt: Attempt
        var query: CacheQuery
        var place: CachePlace
        var binding: CacheBinding
        /// The entry that is revalidated, or that stands in for a failure.
        var entry: CachedEntry?
        var conditions: HTTPFields = []
        var forward: CacheForward
        var reason: String
        /// The removals before the lookup that found the entry.
        var found: CacheStore.Moment?
    }
}
