// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A stored response in the memory of a cache that may be the response to a request.
struct ReadyResponse {
    /// With the report of the cache.
    let head: ExchangeHead
    let body: ByteBuffer
    fileprivate let store: CacheStore

    /// The length of the body.
    var size: Int { body.readableBytes }

    /// Counts the use of the response.
    func count() { if let report = head.cache { store.count(report) } }
}

extension CacheBinding {
    /// The stored response in memory for a plain GET; nil if there is none, or if more than a lookup is to be done.
    func ready(for attempt: Attempt, _ stable: @autoclosure () -> CachePrincipal.Stable) -> ReadyResponse? {
        guard attempt.method == "GET", attempt.upgrade == nil, attempt.duplex == nil else { return nil }
        let url = CacheKey.text(attempt.url, ignoring: spec.ignoredQuery)
        guard let key = store.hotKey(of: url), attempt.security.fault(for: attempt.url) == nil else { return nil }
        let query = CacheQuery(attempt, spec)
        guard query.mayUse, query.range == nil else { return nil }
        let place = place(of: attempt, stable(), url: (url, key))
        guard let entry = store.findInMemory(place).entry, !RedirectPolicy.redirects(entry.head.status),
            case .memory(let bytes) = entry.body,
            bytes.readableBytes <= min(CacheStore.hotBody, attempt.maximumBodyBytes ?? .max)
        else { return nil }
        let now = CacheClock.now
        let verdict = CachePolicy.decide(
            query, entry.head, size: bytes.readableBytes, hasVariants: true, now: now)
        guard case .use(let use) = verdict else { return nil }
        let report = CacheReport(entry, use, as: use.isStale ? .stale : .hit, at: now, check: entry.check)
        let head = ExchangeHead(
            status: entry.head.status, version: entry.head.version, fields: entry.head.shown(at: now), cache: report,
            reason: entry.head.reason)
        return ReadyResponse(head: head, body: bytes, store: store)
    }
}

/// The end of an exchange right at its start.
extension Exchange {
    /// The stored response, if the exchange sends the request as built, and no other attempt can follow.
    var onlyResponse: ReadyResponse? {
        guard let cache, stage == nil, cookies == nil, authenticator == nil, proxyAuthenticator == nil, download == nil,
            plan?.plan.steps.isEmpty ?? true, gate?.admitsAll ?? true, case .success(let attempt) = request,
            attempt.strictFrom == nil, CertificateStamp.file(of: attempt) == nil
        else { return nil }
        return cache.ready(for: attempt, CachePrincipal.Stable())
    }

    /// Whether only the result shows the course of the exchange: no client has events or a body that stays, and no
    /// monitor the steps.
    var showsResultAlone: Bool {
        destination == .inline && !keepsBody && !environment.monitor.wants(TopicSet.course)
            && state.withLock { $0.observer == nil && $0.outlet == nil }
    }

    /// Ends the exchange with the response, which needs no driver if only the result shows the course. False if the
    /// exchange is held or cancelled, or the body too long for a result: then a driver carries the exchange.
    func ends(with ready: ReadyResponse, begun: ContinuousClock.Instant) -> Bool {
        let size = ready.size
        guard size <= maxInline else { return false }
        let isUnderWay = state.withLock { state in
            guard state.cancellation == nil, state.snapshot.phase != .suspended else { return false }
            state.snapshot.attempts = 1
            state.snapshot.head = ready.head
            state.snapshot.progress.received = Int64(size)  // safe: an Int is an Int64
            state.snapshot.progress.receivedTotal = Int64(size)  // safe: as above
            return true
        }
        guard isUnderWay else { return false }
        ready.count()
        var outcome = ExchangeOutcome(
            url: url, method: method, head: ready.head,
            body: size > 0 ? .memory(Array(buffer: ready.body), nil) : .none, bodyBytes: size, isTruncated: false,
            failure: nil, attempts: 1, timelines: Self.unsent, total: (ContinuousClock.now - begun).seconds)
        let phase = conclude(&outcome)
        over(outcome, phase)
        return true
    }

    /// The times of an attempt that nothing is sent for.
    private static let unsent = [Timeline()]
}
