// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// What requests tell a cache of beside the responses that they store.
extension CachedAttempt {
    /// What a response that is not stored says of what is: it invalidates, refreshes or outdates entries.
    func learn(from response: AttemptResponse, _ requestedAt: Int64) {
        if binding.spec.mode == .noStore, Invalidation.isSafe(query.method) { return }
        let invalidation = Invalidation(
            method: query.method, url: query.url, status: response.status, response.fields)
        store.invalidate(invalidation, ignoring: binding.spec.ignoredQuery)
        (observer as? any CacheWatcher)?.tell(invalidation, in: store)
        let isHead = query.method == "HEAD" && response.status == 200
        let isConfirmation = query.method == "GET" && response.status == 304 && query.isConditional
        let isAnother = query.method == "GET" && response.status == 200 && query.isConditional
        // the response to a request with a body says nothing of the entry
        guard isHead || isConfirmation || isAnother, !query.hasBody else { return }
        let now = CacheClock.now
        let fields = response.fields
        let (store, place, fallback) = (store, place, binding.spec.maxAge)
        // removals during the lookup
        let moment = CacheStore.Moment(serial: store.flights.begin(), removals: store.disk?.removals)
        store.find(place, on: loop) { found in
            defer { store.flights.end() }
            guard let entry = found.entry, entry.head.part == nil || !isHead else { return }
            if isAnother {
                // the server has another response than the stored one
                if !entry.head.agrees(with: fields) { store.replace(entry, with: nil, since: moment) }
                return
            }
            let length = fields.first("Content-Length")
            let isSame = length == nil || length == entry.head.fields.first("Content-Length")
            let agrees = isHead ? entry.head.agrees(with: fields) : entry.head.isSelected(by: fields)
            if agrees, isSame || !isHead {
                guard isHead || entry.head.isConfirmed(by: fields) else { return }
                let head = entry.head.updated(
                    by: fields, requestedAt: requestedAt, respondedAt: now, fallback: fallback,
                    withCookies: store.keepsCookies)
                store.replace(entry, with: entry.with(head, at: now, for: place), since: moment)
            } else if isHead {
                var head = entry.head
                head.isOutdated = true
                store.keep(entry.with(head, at: entry.storedAt), since: moment)
            }
        }
    }
}

extension CacheReport {
    /// The report of a stored response.
    convenience init(
        _ entry: CachedEntry, _ use: CacheVerdict.CacheUse, as status: Status, _ forward: CacheForward? = nil,
        isCollapsed: Bool = false, at now: Int64, check: JSONCheck? = nil
    ) {
        let isForbidden = StoreDecision.isForbidden(entry.head.freshness.control, status: entry.head.status)
        self.init(
            status, forward: forward, age: entry.head.freshness.age(at: now),
            timeToLive: entry.head.freshness.timeToLive(at: now),
            isStored: status != .revalidated || !isForbidden, isCollapsed: isCollapsed,
            reason: use.reason, key: entry.url, storedAt: entry.storedAt, upstream: entry.head.upstream,
            check: check)
    }

    /// The report of a request that shared the exchange of another one.
    var collapsed: CacheReport {
        CacheReport(
            status, forward: forward, age: age, timeToLive: timeToLive, isCollapsed: true, reason: reason, key: key,
            storedAt: storedAt, upstream: upstream, of: self)
    }
}

extension HTTPFailure.Kind {
    /// Whether a server could not be reached, or broke off: what stale responses may stand in for.
    var isOfNetwork: Bool {
        switch self {
        case .nameNotFound, .connectionRefused, .unreachable, .connectionLost, .timedOut, .offline, .proxyFailed,
            .malformedResponse, .tlsHandshakeFailed:
            true
        default: false
        }
    }
}
