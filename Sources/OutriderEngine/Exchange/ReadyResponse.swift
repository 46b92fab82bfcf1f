// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// A response that is at hand: stored in memory, or in a cassette that plays. It needs no driver and no attempt.
struct ReadyResponse {
    enum Source {
        case cache(CacheStore, CacheReport)
        case cassette(Tape, Playback.Turn)
    }

    var head: ExchangeHead
    var body: [UInt8]
    var source: Source

    /// The response ends its request.
    func used() {
        if case .cache(let store, let report) = source { store.count(report) }
    }

    /// The request takes another way.
    func giveBack() {
        if case .cassette(let tape, let turn) = source { tape.giveBack(turn) }
    }
}

extension Exchange {
    /// Ends the exchange with a response that is at hand. False without any effect if there is none that may be used as it
    /// is, or if anything else takes part in the exchange. On the loop.
    func endsAtOnce() -> Bool {
        guard isAlone, case .success(let attempt) = request else { return false }
        let began = ContinuousClock.now
        guard let ready = ready(for: attempt) else { return false }
        let size = ready.body.count
        guard (try? begin(attempt: 1)) == true, answered(ready.head, expecting: Int64(size), onWire: nil) else {
            ready.giveBack()
            return false
        }
        if size > 0 { _ = received(Int64(size), onWire: nil) }
        ready.used()
        var outcome = ExchangeOutcome(
            url: url, method: method, head: ready.head, body: size > 0 ? .memory(ready.body, nil) : .none,
            bodyBytes: size, isTruncated: false, failure: nil, attempts: 1, timelines: [Timeline()],
            total: (ContinuousClock.now - began).seconds)
        let phase = conclude(&outcome)
        over(outcome, phase)
        return true
    }

    private func ready(for attempt: Attempt) -> ReadyResponse? {
        switch (cache, stage) {
        case (let cache?, nil): cache.ready(for: attempt, maxInline)
        case (nil, let stage?): stage.ready(for: attempt, maxInline)
        default: nil
        }
    }

    /// Whether nothing else takes part: no limits of a session, cookies, credentials, callbacks or listeners.
    private var isAlone: Bool {
        guard cookies == nil, download == nil, proxyAuthenticator == nil, destination == .inline,
            !keepsBody, plan?.plan.steps.isEmpty ?? true, environment.monitor.isIdle, gate?.admitsAll ?? true
        else { return false }
        return state.withLock { state in
            state.authenticator == nil && state.observer == nil && state.advisor == nil && state.outlet == nil
                && state.cancellation == nil
        }
    }
}

extension CacheBinding {
    /// The stored response in memory for a plain GET; nil if there is none, or if more than a lookup is to be done.
    ///
    /// - Parameter most: the limit of the body in bytes.
    func ready(for attempt: Attempt, _ most: Int) -> ReadyResponse? {
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
        let now = CacheClock.now
        let verdict = CachePolicy.decide(
            query, entry.head, size: bytes.readableBytes, hasVariants: true, now: now)
        guard case .use(let use) = verdict else { return nil }
        let report = CacheReport(entry, use, as: use.isStale ? .stale : .hit, at: now)
        let head = ExchangeHead(
            status: entry.head.status, version: entry.head.version, fields: entry.head.shown(at: now), cache: report)
        return ReadyResponse(head: head, body: Array(bytes.readableBytesView), source: .cache(store, report))
    }
}

extension ReplayStage {
    /// The recorded response for a plain GET that only its URL decides about; nil if more is to be done.
    ///
    /// - Parameter most: the limit of the body in bytes.
    func ready(for attempt: Attempt, _ most: Int) -> ReadyResponse? {
        guard attempt.method == "GET", attempt.body == .none, attempt.upgrade == nil, attempt.strictFrom == nil,
            let tape, hasNoStubs,
            let ready = tape.takeReady(for: attempt, min(most, CacheStore.hotBody, attempt.maximumBodyBytes ?? .max))
        else { return nil }
        let head = ExchangeHead(status: ready.head.status, version: ready.head.version, fields: ready.head.fields)
        return ReadyResponse(head: head, body: ready.body, source: .cassette(tape, ready.turn))
    }
}
