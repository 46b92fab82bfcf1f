// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP
import Testing

@testable import OutriderEngine

/// Removals that other services have left, and removals of what belongs to a login.
struct CacheRemovalTests {
    private let stores: Stores

    init() throws { stores = try Stores() }

    private func cache(_ disk: DiskCache) -> CacheStore {
        CacheStore(name: "docs", CacheLimits(), secret: disk.secret, disk: disk)
    }

    @Test func `a response under way is not stored if an ended service has left its removal`() async throws {
        let (disk, ended) = (try stores.open(), try stores.open())
        let store = cache(disk)
        await disk.store([entry(9)])
        await ended.store([entry(8)])
        let moment = CacheStore.Moment(serial: store.flights.begin(), removals: disk.removals)
        defer { store.flights.end() }
        try await stores.busy {
            ended.remove(key: entry(1).id.key)
            ended.remove(.tag("a"))
            await ended.close(within: 0.1)
        }
        // the lookup of another request takes the removals over
        #expect(await disk.found(9).count == 1)
        await disk.settled()
        #expect(!store.keep(entry(1), since: moment))
        #expect(!store.keep(entry(2, tags: ["a"]), since: moment))
        #expect(store.keep(entry(3), since: moment))
        await disk.settled()
        for number in 1...2 { #expect(await disk.found(number).isEmpty) }
        #expect(await disk.found(3).count == 1)
    }

    @Test func `a lookup during a purge brings no removed entry back into memory`() async throws {
        let disk = try stores.open()
        let store = cache(disk)
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/")
        let place = CachePlace(
            Attempt(method: "GET", url: url, fields: []), CacheSpec(), principal: "", isForAll: true, owners: [],
            coding: nil,
            of: store)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        for _ in 1...200 {
            _ = store.put(key: place.url, status: 200, [], [1], tags: [])
            await disk.settled()
            _ = store.giveUp(.max)
            async let purge: Void = store.purge(.all)
            async let lookup: Void = withUnsafeContinuation { continuation in
                loop.execute { store.find(place, on: loop) { _ in continuation.resume() } }
            }
            _ = await (purge, lookup)
            #expect(store.findInMemory(place).entry == nil)
        }
    }

    @Test func `a removal outlives another service's new database`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1), entry(2)])
        try StoreLock("\(stores.root)/docs/store.lock").raiseEpoch()
        try await stores.busy {
            disk.remove(key: entry(1).id.key)
            await disk.close(within: 0.1)
        }
        let next = try stores.open()
        #expect(await next.found(1).isEmpty)
        #expect(await next.found(2).count == 1)
    }

    @Test func `the count of removals waits for no lock of the store`() throws {
        let disk = try stores.open()
        let mark = disk.state.withLock { _ in disk.removals }
        #expect(!disk.removals.differs(from: mark))
        #expect(try StoreLock("\(stores.root)/docs/store.lock").raiseRemovals())
        #expect(disk.removals.differs(from: mark))
        disk.ownRemovals.raise(disk.lock)
        #expect(disk.removals.foreign == (mark.foreign ?? 0) + 1)
        let vague = RemovalCount.Mark(count: 1, foreign: nil)
        #expect(vague.differs(from: vague))
    }

    @Test func `the end of a login reaches caches that are closed`() async throws {
        let owner = "oauth:work"
        for name in ["docs", "more"] {
            let disk = try stores.open(name)
            let tag = CacheOwner.tag(owner, disk.secret)
            await disk.store([entry(1, tags: [tag]), entry(2)])
            await disk.close(within: 20)
        }
        let running = try stores.open("docs")
        let store = cache(running)
        #expect(await running.found(1).count == 1)
        CacheOwner.forget(owner, in: stores.root)
        let leftover = "\(stores.root)/more"
        for _ in 0..<10_000 where !DirectoryNames.all(in: leftover).contains(where: { $0.hasPrefix("left-") }) {
            try await Task.sleep(for: .milliseconds(1))
        }
        let closed = try stores.open("more")
        for disk in [running, closed] {
            #expect(await disk.found(1).isEmpty)
            #expect(await disk.found(2).count == 1)
            await disk.settled()
            #expect(await disk.totals().entries == 1)
        }
        #expect(store.path == running.directory)
        #expect(!DirectoryNames.all(in: leftover).contains { $0.hasPrefix("left-") })
    }

    @Test(arguments: [true, false])
    func `a response that was stored behind a lookup outlives the removal`(isWritten: Bool) async throws {
        let disk = try stores.open()
        await disk.store([entry(1, storedAt: 1), entry(2, storedAt: 1)])
        for number in 1...2 {
            let old = try #require(await disk.found(number).first)
            if number == 1 { #expect(disk.put(entry(1, storedAt: 2))) }
            if isWritten { await disk.settled() }
            disk.supersede(old)
        }
        // before the removals are on the disk, and after
        for _ in 0..<2 {
            #expect(await disk.found(1).map(\.storedAt) == [2])
            #expect(await disk.found(2).isEmpty)
            await disk.settled()
        }
        #expect(await disk.totals().entries == 1)
    }

    @Test func `many ends of logins become one removal`() throws {
        let disk = try stores.open()
        for number in 0..<100 { disk.files.leaveRemoval(.purge(.tag("\(number)"))) }
        let left = disk.files.leftovers().map(\.lines)
        #expect(left.count == 65)
        #expect(left.contains(["all"]))
    }
}

/// Changes that wait, and lookups meanwhile.
struct ChangeQueueTests {
    @Test func `the index finds what a look at all removals finds`() {
        var queue = ChangeQueue()
        var generator = SystemRandomNumberGenerator()
        func change() -> CacheChange {
            let number = Int.random(in: 0..<6, using: &generator)
            switch Int.random(in: 0..<9, using: &generator) {
            case 0: return .remove(entry(number).id)
            case 1: return .removeKey(entry(number).id.key)
            case 2: return .purge(.tag("\(number)"))
            case 3: return .purge(.prefix("http://a.test/\(number)"))
            case 4: return .purge(.storedBefore(Int64(number)))
            case 5:
                var rows = CacheDatabase.Selection("1")
                rows.last = Int64(number)
                return .rest(rows, of: .removeKey(entry(number).id.key))
            case 6: return .put(entry(number), since: nil)
            case 7: return .supersede(entry(number).id, storedUpTo: Int64.random(in: 0..<6, using: &generator))
            default: return .wake
            }
        }
        for _ in 0..<4000 {
            switch Int.random(in: 0..<9, using: &generator) {
            case 0...3: queue.append(change())
            case 4: queue.prepend([change(), change()])
            case 5: if queue.underway.isEmpty { _ = queue.take(3) }
            case 6: queue.putBack()
            case 7:
                queue.keep(queue.underway.filter(\.isLasting), most: 20)
                queue.finish()
            default: if Bool.random(using: &generator) { queue.resume() } else { queue.finish() }
            }
            if queue.waiting.count > 30 { _ = queue.takeWaiting() }
            if queue.kept.count > 15 { _ = queue.takeKept() }
            let all = queue.waiting + queue.underway + queue.kept
            for number in 0..<6 {
                let stored = entry(number, tags: ["\(number + 1)"], storedAt: Int64(number))
                let isRemoved = all.contains { $0.removes(stored, row: 3) }
                #expect(queue.removes(stored, row: 3) == isRemoved)
            }
        }
    }

    @Test func `a tag is compared by its bytes, as in the database`() {
        let stored = entry(1, tags: ["\u{E9}"])
        var queue = ChangeQueue()
        queue.append(.purge(.tag("e\u{301}")))
        #expect(!queue.removes(stored, row: 3) && !CachePurge.tag("e\u{301}").matches(stored))
        queue.append(.purge(.tag("\u{E9}")))
        #expect(queue.removes(stored, row: 3) && CachePurge.tag("\u{E9}").matches(stored))
    }

    @Test func `only the body of the chosen variant is checked`() async throws {
        let stores = try Stores()
        let disk = try stores.open()
        await disk.store((1...2).map { entry(1, variant: $0, bytes: 100_000) })
        let name = try SQLiteDatabase("\(stores.root)/docs/cache.db").text(
            "SELECT file FROM entry WHERE variant = x'00000000000000000000000000000001'")
        let path = disk.files.path(of: try #require(name))
        let file = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        var byte: UInt8 = 9
        #expect(pwrite(file, &byte, 1, 50_000) == 1)
        Glibc.close(file)
        #expect(await disk.found(1, variant: 2).count == 1)
        await disk.settled()
        #expect(await disk.totals().entries == 2)
        #expect(await disk.found(1, variant: 1).isEmpty)
        await disk.settled()
        #expect(await disk.totals().entries == 1)
    }
}

extension SQLiteDatabase {
    fileprivate func text(_ sql: String) throws -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }
}
