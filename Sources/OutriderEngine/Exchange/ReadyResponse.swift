// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// A request that a stored response in memory ends at once, without a driver and an attempt.
extension Exchange {
    /// Ends the exchange with a stored response. False without any effect if there is none that may be used as it is, or
    /// if anything else takes part in the exchange. On the loop.
    func endsWithHit() -> Bool {
        guard let cache, isAlone, case .success(let attempt) = request, let hit = cache.hit(for: attempt, maxInline)
        else { return false }
        let began = ContinuousClock.now
        let (entry, now) = (hit.entry, CacheClock.now)
        let report = CacheReport(entry, hit.use, as: hit.use.isStale ? .stale : .hit, at: now)
        let head = ExchangeHead(
            status: entry.head.status, version: entry.head.version, fields: entry.head.shown(at: now), cache: report)
        let size = hit.bytes.readableBytes
        guard (try? begin(attempt: 1)) == true, answered(head, expecting: Int64(size), onWire: nil) else {
            return false
        }
        if size > 0 { _ = received(Int64(size), onWire: nil) }
        cache.store.count(report)
        var outcome = ExchangeOutcome(
            url: url, method: method, head: head,
            body: size > 0 ? .memory(Array(hit.bytes.readableBytesView), nil) : .none, bodyBytes: size,
            isTruncated: false, failure: nil, attempts: 1, timelines: [Timeline()],
            total: (ContinuousClock.now - began).seconds)
        let phase = conclude(&outcome)
        over(outcome, phase)
        return true
    }

    /// Whether nothing but the cache takes part: no limits of a session, cookies, credentials, callbacks or listeners.
    private var isAlone: Bool {
        guard cookies == nil, stage == nil, download == nil, proxyAuthenticator == nil, destination == .inline,
            !keepsBody, plan?.plan.steps.isEmpty ?? true, environment.monitor.isIdle, gate?.admitsAll ?? true
        else { return false }
        return state.withLock { state in
            state.authenticator == nil && state.observer == nil && state.advisor == nil && state.outlet == nil
                && state.cancellation == nil
        }
    }
}

extension CacheBinding {
    /// A stored response that may be used as it is.
    struct Hit {
        var entry: CachedEntry
        var use: CacheVerdict.CacheUse
        var bytes: ByteBuffer
    }

    /// The stored response in memory for a plain GET; nil if there is none, or if more than a lookup is to be done.
    ///
    /// - Parameter most: the limit of the body in bytes.
    func hit(for attempt: Attempt, _ most: Int) -> Hit? {
        guard attempt.method == "GET", attempt.upgrade == nil, attempt.duplex == nil, attempt.strictFrom == nil else {
            return nil
        }
        let url = CacheKey.text(attempt.url, ignoring: spec.ignoredQuery)
        guard let key = store.hotKey(of: url), attempt.security.fault(for: attempt.url) == nil else { return nil }
        let query = CacheQuery(attempt, spec)
        guard query.mayUse, query.range == nil else { return nil }
        let credentials = CachePrincipal.credentials(attempt, .init(), named: spec.principal)
        let place = CachePlace(
            attempt, spec, url: (url, key),
            principal: CachePrincipal.text(attempt, credentials: credentials, proxies: proxies),
            isForAll: credentials.isEmpty, owners: [], coding: coding, of: store)
        guard let entry = store.findInMemory(place).entry, !RedirectPolicy.redirects(entry.head.status),
            case .memory(let bytes) = entry.body,
            bytes.readableBytes <= min(most, CacheStore.hotBody, attempt.maximumBodyBytes ?? .max)
        else { return nil }
        let verdict = CachePolicy.decide(
            query, entry.head, size: bytes.readableBytes, hasVariants: true, now: CacheClock.now)
        guard case .use(let use) = verdict else { return nil }
        return Hit(entry: entry, use: use, bytes: bytes)
    }
}
