// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// An attempt whose response is at hand: stored in the memory of a cache, or in a cassette that plays.
///
/// Gives what `CachedAttempt` and `StagedAttempt` would give, without their waits and their state.
// proof: everything runs on `loop`, one of the transport; the parts that other threads read do not change.
final class ReadyAttempt: PolledAttempt, AttemptResponseBody, @unchecked Sendable {
    enum Source {
        case cache(CacheStore, CacheReport, ByteBuffer)
        case cassette(PreparedScript, any AttemptObserver)
    }

    let loop: any EventLoop
    private let head: AttemptScript.Head
    private let source: Source
    /// The pieces of the body that were taken.
    private var taken = 0

    init(_ head: AttemptScript.Head, from source: Source, on loop: any EventLoop) {
        self.head = head
        self.source = source
        self.loop = loop
    }

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        var response = AttemptResponse(
            status: head.status, reason: head.reason, version: head.version, fields: head.fields, body: self)
        switch source {
        case .cache(let store, let report, _):
            store.count(report)
            response.cache = report
        case .cassette(_, let observer): observer.sending(self)
        }
        completion(.success(response))
    }

    func poll(
        _ completion: @escaping (Result<ByteBuffer?, HTTPFailure>) -> Void
    ) -> Result<ByteBuffer?, HTTPFailure>? {
        defer { taken &+= 1 }
        switch source {
        case .cache(_, _, let body): return .success(taken == 0 && body.readableBytes > 0 ? body : nil)
        case .cassette(let script, _):
            let chunks = script.value.chunks
            return .success(taken < chunks.count ? ByteBuffer(bytes: chunks[taken].bytes) : nil)
        }
    }

    /// No work is under way, neither for the response nor for its body.
    func cancel() {}
    func abandon() {}

    var expectedBytes: Int64? {
        switch source {
        case .cache(_, _, let body): Int64(body.readableBytes)  // safe: an Int is an Int64
        case .cassette: head.expectedBytes(to: "GET")
        }
    }

    var wireBytes: (got: Int64, of: Int64?)? { nil }
    var trailers: HTTPFields { [] }
    var timeline: Timeline { Timeline() }
}

/// The driver itself does not go on with a response while the exchange is suspended.
extension ReadyAttempt: AttemptControl {
    func hold() {}
    func release() {}
}

extension Exchange {
    /// The attempt with a stored response, if the exchange sends the request as built, and no other attempt can follow.
    func onlyAttempt(on loop: any EventLoop) -> ReadyAttempt? {
        guard let cache, stage == nil, cookies == nil, authenticator == nil, proxyAuthenticator == nil, download == nil,
            plan?.plan.steps.isEmpty ?? true, gate?.admitsAll ?? true, case .success(let attempt) = request,
            CertificateStamp.file(of: attempt) == nil
        else { return nil }
        return cache.ready(for: attempt, CachePrincipal.Stable(), on: loop)
    }
}

extension CacheBinding {
    /// An attempt with the stored response in memory for a plain GET; nil if there is none, or if more than a lookup is
    /// to be done.
    func ready(
        for attempt: Attempt, _ stable: @autoclosure () -> CachePrincipal.Stable, on loop: any EventLoop
    ) -> ReadyAttempt? {
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
        let head = AttemptScript.Head(
            status: entry.head.status, reason: entry.head.reason, version: entry.head.version,
            fields: entry.head.shown(at: now))
        return ReadyAttempt(head, from: .cache(store, report, bytes), on: loop)
    }
}

extension ReplayStage {
    /// An attempt with the recorded response for a plain GET that only its URL decides about; nil if more is to be done.
    func ready(
        for attempt: Attempt, observer: any AttemptObserver, on loop: any EventLoop
    ) -> ReadyAttempt? {
        guard attempt.method == "GET", attempt.body == .none, attempt.upgrade == nil, let tape, hasNoStubs,
            let script = tape.takeReady(for: attempt, min(CacheStore.hotBody, attempt.maximumBodyBytes ?? .max)),
            let head = script.value.head
        else { return nil }
        return ReadyAttempt(head, from: .cassette(script, observer), on: loop)
    }
}
