// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization
import Testing

@testable import OutriderEngine

/// Exchanges whose response is in the memory of a cache.
struct ReadyResponseTests {
    private static func stage() -> Stage {
        var script = ScriptedTransport.Script(chunks: [[1, 2], [3]])
        script.fields = [.init("Cache-Control", "max-age=600"), .init("Content-Length", "3")]
        return Stage(script)
    }

    private static func exchange(
        _ stage: Stage, _ store: CacheStore, observer: (any ExchangeObserver)? = nil, keepsBody: Bool = false,
        maxInline: Int = 1000
    ) async -> Exchange {
        var spec = RequestSpec(url: "http://127.0.0.1/a")
        spec.maxInline = maxInline
        let setup = ExchangeSetup(
            quota: stage.quota, keepsBody: keepsBody, observer: observer,
            cache: stage.engine.binding(store, CacheSpec()))
        return await stage.engine.exchange(spec, setup)
    }

    private static func finished(_ exchange: Exchange) async -> Exchange {
        exchange.start()
        _ = await exchange.reached(.finish)
        return exchange
    }

    @Test func `an exchange with a stored response ends as a driver would end the exchange`() async throws {
        let (stage, store) = (Self.stage(), CacheStore(CacheLimits()))
        _ = await Self.finished(Self.exchange(stage, store))
        let before = stage.engine.counts
        let plain = await Self.finished(Self.exchange(stage, store))
        let middle = stage.engine.counts
        let listener = Listener(progressInterval: nil)
        let driven = await Self.finished(Self.exchange(stage, store, observer: listener))
        let after = stage.engine.counts
        #expect(stage.transport.attempts.count == 1)
        #expect(listener.events.last == "well")
        for exchange in [plain, driven] {
            let (snapshot, outcome) = (exchange.snapshot, try #require(exchange.outcome))
            #expect(snapshot.phase == .finished)
            #expect(snapshot.attempts == 1)
            #expect(snapshot.head?.status == 200)
            #expect(snapshot.progress.received == 3)
            #expect(snapshot.progress.receivedTotal == 3)
            #expect(snapshot.timelines.count == 1)
            #expect(outcome.head?.fields.first("Age") == "0")
            #expect(outcome.head?.cache?.status == .hit)
            #expect(outcome.failure == nil)
            guard case .memory([1, 2, 3], nil) = outcome.body else { throw Wrong() }
        }
        #expect(store.counts.hits == 2)
        #expect(middle.total - before.total == 1)
        #expect(after.total - middle.total == 1)
        #expect(after.running == 0)
        #expect(middle.failed == 0)
    }

    @Test(arguments: [true, false]) func `a body that stays, or is too long for a result, is kept`(
        isLong: Bool
    ) async throws {
        let (stage, store) = (Self.stage(), CacheStore(CacheLimits()))
        _ = await Self.finished(Self.exchange(stage, store))
        let exchange = await Self.finished(
            Self.exchange(stage, store, keepsBody: !isLong, maxInline: isLong ? 2 : 1000))
        let outcome = try #require(exchange.takeOutcome())
        #expect(outcome.head?.cache?.status == .hit)
        #expect(stage.quota.held.memory == 3)
        if isLong { guard case .kept = outcome.body else { throw Wrong() } }
    }

    @Test func `a cancelled exchange does not end with a stored response`() async throws {
        let (stage, store) = (Self.stage(), CacheStore(CacheLimits()))
        _ = await Self.finished(Self.exchange(stage, store))
        let exchange = await Self.exchange(stage, store)
        exchange.cancel()
        _ = await exchange.reached(.finish)
        #expect(exchange.outcome?.failure?.kind == .explicitlyCancelled)
        #expect(exchange.outcome?.head == nil)
        #expect(store.counts.hits == 0)
    }

    @Test func `monitors have the events of a stored response`() async throws {
        let (stage, store) = (Self.stage(), CacheStore(CacheLimits()))
        _ = await Self.finished(Self.exchange(stage, store))
        let sink = Topics()
        let wanted: [MonitorTopic] = [.attemptAnswered, .cacheHit, .requestFinished]
        stage.engine.monitor.tell(sink, wanted.reduce(into: []) { $0.formUnion(TopicSet($1)) })
        _ = await Self.finished(Self.exchange(stage, store))
        #expect(sink.seen.withLock { $0 } == wanted)
    }
}

/// Remembers the topics of all events.
private final class Topics: MonitorSink {
    let seen = Mutex<[MonitorTopic]>([])

    func receive(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail) {
        seen.withLock { $0.append(topic) }
    }
}
