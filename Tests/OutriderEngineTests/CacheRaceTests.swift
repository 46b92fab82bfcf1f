// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Synchronization
import Testing

@testable import OutriderEngine

/// A scripted transport that can stop the event loop right after a response.
private final class StoppingTransport: Transport {
    let inner: ScriptedTransport
    let stops = Atomic(false)
    let isStopped = Atomic(false)

    init(_ scripts: [ScriptedTransport.Script], on loop: any EventLoop) {
        inner = ScriptedTransport(scripts, on: loop)
    }

    var loop: any EventLoop { inner.loop }

    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        if stops.load(ordering: .acquiring) {
            // behind the response, and before all that follows from a lookup
            loop.execute {
                self.isStopped.store(true, ordering: .releasing)
                for _ in 0..<20_000 where self.stops.load(ordering: .acquiring) { usleep(1000) }
            }
        }
        return inner.make(attempt, observer: observer)
    }
}

/// Holds up a thread until it is opened, for twenty seconds at most.
private final class Gate: Sendable {
    private let isOpen = Atomic(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    func wait() { for _ in 0..<20_000 where !isOpen.load(ordering: .acquiring) { usleep(1000) } }
}

/// Removals between the lookup of an exchange that changes a stored response, and the change.
struct CacheRaceTests {
    private static let size = 100_000

    private static func script(
        _ status: Int, _ fields: [(String, String)], bytes: Int, control: String = "max-age=600"
    ) -> ScriptedTransport.Script {
        var script = ScriptedTransport.Script()
        script.status = status
        script.fields = HTTPFields(
            (fields + [("ETag", "\"1\""), ("Cache-Control", control)]).map { HTTPFields.Field($0.0, $0.1) })
        script.chunks = bytes == 0 ? [] : [[UInt8](repeating: 7, count: bytes)]
        return script
    }

    enum Case: CaseIterable, Sendable {
        case head, part
    }

    @Test(arguments: Case.allCases, [true, false])
    func `what is removed during the lookup does not come back`(_ kind: Case, isRemoved: Bool) async throws {
        let stores = try Stores()
        let disk = try stores.open()
        let store = CacheStore(name: "docs", CacheLimits(maxBytes: 1 << 30), secret: disk.secret, disk: disk)
        let group = MultiThreadedEventLoopGroup.singleton
        let length = [("Content-Length", "\(Self.size)")]
        let scripts =
            kind == .head
            ? [Self.script(200, length, bytes: Self.size), Self.script(200, length, bytes: 0)]
            : [0, Self.size].map { start in
                let range = "bytes \(start)-\(start + Self.size - 1)/\(2 * Self.size)"
                return Self.script(206, length + [("Content-Range", range)], bytes: Self.size)
            }
        let transport = StoppingTransport(scripts, on: group.next())
        let engine = Engine(transport: transport, group: group, settings: EngineSettings())
        let quota = engine.makeQuota()
        func send(_ range: String?, _ method: String = "GET", _ mode: CacheSpec.Mode = .default) async -> Exchange {
            var spec = RequestSpec(url: "http://127.0.0.1/a")
            spec.method = method
            spec.maxInline = 1 << 20
            if let range { spec.fields.set("Range", range) }
            var options = CacheSpec()
            options.mode = mode
            let exchange = await engine.exchange(
                spec, ExchangeSetup(quota: quota, keepsBody: false, cache: engine.binding(store, options)))
            exchange.start()
            return exchange
        }
        let first = await send(kind == .part ? "bytes=0-\(Self.size - 1)" : nil)
        _ = await first.reached(.finish)
        await disk.settled()
        try #require(await disk.totals().entries == 1)

        transport.stops.store(true, ordering: .releasing)
        let last = "bytes=\(Self.size)-\(2 * Self.size - 1)"
        let second = kind == .part ? await send(last) : await send(nil, "HEAD", .reload)
        for _ in 0..<20_000 where !transport.isStopped.load(ordering: .acquiring) {
            try await Task.sleep(for: .milliseconds(1))
        }
        // the reader has found the entry, which waits for the loop
        _ = await disk.list(after: 0, most: 1)
        if isRemoved { store.remove(url: "http://127.0.0.1/a") }
        transport.stops.store(false, ordering: .releasing)
        _ = await second.reached(.finish)
        try await transport.loop.submit {}.get()
        await disk.settled()
        #expect(transport.inner.attempts.count == 2)
        #expect(await disk.totals().entries == (isRemoved ? 0 : 1))
    }

    @Test(arguments: [true, false])
    func `what is removed between the lookup and the request is not stored again by a 304`(
        isRemoved: Bool
    ) async throws {
        let stores = try Stores()
        let disk = try stores.open()
        let store = CacheStore(name: "docs", CacheLimits(maxBytes: 1 << 30), secret: disk.secret, disk: disk)
        let group = MultiThreadedEventLoopGroup.singleton
        let whole = Self.script(200, [], bytes: Self.size, control: "no-store")
        let scripts = [Self.script(200, [], bytes: Self.size), Self.script(304, [], bytes: 0), whole]
        let transport = ScriptedTransport(scripts, on: group.next())
        let engine = Engine(transport: transport, group: group, settings: EngineSettings())
        let quota = engine.makeQuota()
        func send() async -> Exchange {
            var spec = RequestSpec(url: "http://127.0.0.1/a")
            spec.maxInline = 1 << 20
            var options = CacheSpec()
            options.mode = .noCache
            let exchange = await engine.exchange(
                spec, ExchangeSetup(quota: quota, keepsBody: false, cache: engine.binding(store, options)))
            exchange.start()
            return exchange
        }
        let first = await send()
        _ = await first.reached(.finish)
        await disk.settled()
        try #require(await disk.totals().entries == 1)

        // the lookup waits for the reader, and what follows from it for the loop
        let (reading, following) = (Gate(), Gate())
        disk.reads.run { reading.wait() }
        let second = await send()
        for _ in 0..<20_000 where disk.state.withLock({ $0.lookups.isEmpty }) {
            try await Task.sleep(for: .milliseconds(1))
        }
        transport.loop.execute { following.wait() }
        reading.open()
        _ = await disk.list(after: 0, most: 1)
        if isRemoved {
            store.remove(url: "http://127.0.0.1/a")
            // the file goes with the row, behind the call
            await disk.settled()
        }
        following.open()
        _ = await second.reached(.finish)
        await disk.settled()
        // the body of a removed entry is gone, and is asked for
        #expect(transport.attempts.count == (isRemoved ? 3 : 2))
        #expect(second.takeOutcome()?.bodyBytes == Self.size)
        #expect(await disk.totals().entries == (isRemoved ? 0 : 1))
    }

    @Test func `a stored body that is gone is asked for`() async throws {
        let stores = try Stores()
        let disk = try stores.open()
        let store = CacheStore(name: "docs", CacheLimits(), secret: disk.secret, disk: disk)
        let group = MultiThreadedEventLoopGroup.singleton
        let transport = StoppingTransport([Self.script(200, [], bytes: 5)], on: group.next())
        let engine = Engine(transport: transport, group: group, settings: EngineSettings())
        let url = "http://127.0.0.1/a"
        let now = CacheClock.now
        let fields = HTTPFields([HTTPFields.Field("Cache-Control", "max-age=600")])
        let head = CachedHead(status: 200, reason: "", version: "1.1", fields, requestedAt: now, respondedAt: now)
        let entry = CachedEntry(
            id: CacheEntryID(key: store.key(of: url), principal: .empty, variant: .empty), url: url, head: head,
            vary: [],
            body: .file(name: "0123456789abcdef", size: 100_000), tags: [], storedAt: now)
        // an entry that waits for the disk is found; another service has removed its file
        try await stores.busy {
            store.put(entry)
            for mode in [CacheSpec.Mode.onlyIfCached, .default] {
                var options = CacheSpec()
                options.mode = mode
                let exchange = await engine.exchange(
                    RequestSpec(url: url),
                    ExchangeSetup(
                        quota: engine.makeQuota(), keepsBody: false, cache: engine.binding(store, options)))
                exchange.start()
                _ = await exchange.reached(.finish)
                let outcome = exchange.takeOutcome()
                #expect(outcome?.failure?.kind == (mode == .default ? nil : .notCached))
                #expect(outcome?.bodyBytes == (mode == .default ? 5 : 0))
            }
        }
        #expect(transport.inner.attempts.count == 1)
    }
}
