// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Testing

@testable import OutriderEngine

/// Which entries leave a full store, and the totals that decide when.
struct DiskCacheEvictionTests {
    private let stores: Stores

    init() throws { stores = try Stores() }

    @Test func `a store closes before its eviction has ended`() async throws {
        let disk = try stores.open()
        await disk.store((1...200).map { entry($0) })
        var limits = CacheLimits()
        limits.maxEntries = 10
        disk.change(limits)
        await disk.close(within: 0)
        #expect(try stores.integer("SELECT count(*) FROM entry") > 10)
        disk.change(limits)
        await disk.settled()
        #expect(await disk.totals().entries <= 10)
    }

    @Test func `the use of an entry is written at the end`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1), entry(2)])
        try stores.run("UPDATE entry SET usedHour = 1")
        #expect(await disk.found(1).count == 1)
        await disk.close(within: 20)
        #expect(try stores.integer("SELECT count(*) FROM entry WHERE usedHour > 1") == 1)
    }

    @Test func `entries that were used from memory are evicted last`() async throws {
        final class Owner: DiskCacheOwner {
            func takeUsed() -> [CacheEntryID] { [entry(1).id] }
            func written(_ bytes: Int) {}
            func lost(_ entry: CachedEntry) {}
            func adopted(_ change: CacheChange) {}
        }
        let disk = try stores.open()
        await disk.store((1...4).map { entry($0) })
        try stores.run("UPDATE entry SET usedHour = 1")
        let owner = Owner()
        disk.attach(owner)
        var limits = CacheLimits()
        limits.maxEntries = 2
        disk.change(limits)
        await disk.settled()
        #expect(await disk.found(1).count == 1)
        #expect(await disk.totals().entries <= 2)
    }

    @Test func `of entries that were used in the same hour the first stored goes first`() async throws {
        let disk = try stores.open()
        await disk.store((1...4).map { entry($0) })
        // neither the numbers nor the sizes decide
        try stores.run("UPDATE entry SET usedHour = 1, storedAt = 100 - id, size = 2000 + id")
        var limits = CacheLimits()
        limits.maxEntries = 2
        disk.change(limits)
        await disk.settled()
        #expect(await disk.found(1).count == 1)
        #expect(await disk.found(3).isEmpty)
        #expect(await disk.found(4).isEmpty)
    }

    @Test func `totals that promise rows which are not there do not stop the writer`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        try stores.run("UPDATE total SET bytes = 1000000000, entries = 77")
        // the totals were compared before: entries go in vain, and the totals are compared again
        await disk.store([entry(2)])
        await disk.store([entry(3)])
        #expect(await disk.totals().entries == 1)
        #expect(await disk.fault() == nil)
    }

    @Test func `a store with the earlier order gets the new order`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        await disk.close(within: 20)
        try stores.run("DROP INDEX entryAge")
        try stores.run("CREATE INDEX entryUsed ON entry (usedHour, size)")
        let next = try stores.open()
        await next.store([entry(2)])
        #expect(await next.found(1).count == 1 && next.problem == nil)
        let names = "SELECT count(*) FROM sqlite_master WHERE name ="
        #expect(try stores.integer("\(names) 'entryAge'") == 1 && stores.integer("\(names) 'entryUsed'") == 0)
    }
}
