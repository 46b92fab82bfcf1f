// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Reports the cache's work to the observers of a request.
extension Exchange {
    /// Whether nothing may be sent for the request, neither to its server nor for a token.
    var isOffline: Bool { givenCache?.spec.mode == .onlyIfCached }

    func tell(_ report: CacheReport) {
        let topic: MonitorTopic
        switch report.status {
        case .bypass: return
        case .miss: topic = .cacheMiss
        case .revalidated: topic = .cacheRevalidated
        case .hit, .stale, .updating: topic = .cacheHit
        }
        tell(topic) {
            .cache(
                MonitorDetail.CacheNote(
                    name: givenCache?.store.name, url: report.key, status: report.status, reason: report.reason),
                attempt: attemptNumber)
        }
    }

}

extension Exchange: CacheWatcher {
    var heldSoFar: Duration { held(at: .now) }

    var background: CacheBackground {
        let (environment, cookies) = (environment, cookies)
        return CacheBackground(
            counts: { timeline in
                environment.counters.moved(sent: timeline.bytesSent, received: timeline.bytesReceived)
                environment.tally.count(timeline)
            },
            takes: { fields, attempt in
                // no result waits for the jar on disk
                _ = cookies?.take(fields, from: attempt)
            }, gate: gate)
    }

    func signedAgain(_ attempt: Attempt, after fields: HTTPFields) -> Attempt {
        state.withLock { $0.driver }?.signedAgain(attempt, after: fields) ?? attempt
    }

    func tellStored(_ entry: CachedEntry, in store: CacheStore) {
        tell(.cacheStored) {
            .cache(
                MonitorDetail.CacheNote(name: store.name, url: entry.url, size: entry.body.size),
                attempt: attemptNumber)
        }
        guard environment.monitor.wants(.cacheEvicted) else { return }
        let count = store.takeEvicted()
        guard count > 0 else { return }
        tell(.cacheEvicted) {
            .cache(MonitorDetail.CacheNote(name: store.name, count: count), attempt: attemptNumber)
        }
    }

    func tell(_ invalidation: Invalidation, in store: CacheStore) {
        for url in invalidation.urls {
            tell(.cacheInvalidated) {
                .cache(MonitorDetail.CacheNote(name: store.name, url: url.description), attempt: attemptNumber)
            }
        }
    }

    func changed(_ draft: CacheDraft, by name: String, for attempt: Attempt) async -> CacheDraft? {
        let moment = ExchangeMoment(
            exchange: self, attempt: attemptNumber, retries: 0, redirects: [], request: attempt)
        hold()
        defer { release() }
        return await delegate?.cacheResponse(name, draft, moment)
    }
}

extension ExchangeHead {
    package init(_ draft: CacheDraft) { self.init(status: draft.status, version: "1.1", fields: draft.fields) }
}
