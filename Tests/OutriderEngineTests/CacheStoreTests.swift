// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Testing

@testable import OutriderEngine

private func entry(_ number: Int, bytes: Int = 0) -> CachedEntry {
    let id = CacheEntryID(
        key: CacheDigest(high: UInt64(number), low: 1), principal: .empty, variant: .empty)
    let head = CachedHead(status: 200, reason: "", version: "1.1", [], requestedAt: 0, respondedAt: 0)
    var body = ByteBuffer()
    body.writeRepeatingByte(7, count: bytes)
    return CachedEntry(
        id: id, url: "http://a.test/\(number)", head: head, vary: [], body: .memory(body), tags: [], storedAt: 0)
}

struct CacheStoreTests {
    @Test func `a large table is freed without recursion`() {
        var table: CacheTable? = CacheTable()
        for number in 0..<300_000 { table?.put(entry(number)) }
        #expect(table?.count == 300_000)
        table = nil
        #expect(table == nil)
    }

    @Test func `the least recently used entry goes first`() {
        var table = CacheTable()
        let entries = (0..<3).map { entry($0) }
        for entry in entries { table.put(entry) }
        table.touch(entries[0])
        let given = table.evict(bytes: .max, count: 2)
        #expect(given.map(\.url) == ["http://a.test/1"])
        #expect(table.bytes == entries[0].cost + entries[2].cost)
    }

    @Test func `an entry costs the memory that its body keeps`() {
        #expect(entry(0, bytes: 1000).cost >= entry(0).cost + 1024)
    }

    @Test func `a full budget takes room from the largest cache of the user who holds most`() {
        let budget = CacheBudget(200_000)
        let first = CacheStore(CacheLimits(), user: 1, budget: budget)
        let second = CacheStore(CacheLimits(), user: 2, budget: budget)
        let third = CacheStore(CacheLimits(), user: 2, budget: budget)
        for number in 0..<11 { first.put(entry(number, bytes: 16_384)) }
        for number in 0..<3 { second.put(entry(number, bytes: 16_384)) }
        #expect(second.usage.entries == 3 && first.usage.entries < 9 && first.usage.entries > 6)
        third.put(entry(0, bytes: 1000))
        for number in 3..<20 { second.put(entry(number, bytes: 16_384)) }
        // neither user takes more than half from the other, and a small cache loses nothing to a large one
        #expect(first.usage.bytes > 60_000 && second.usage.bytes > 60_000 && third.usage.entries == 1)
        #expect(budget.excess == 0)
    }

    @Test func `a body on its way takes the room of old entries`() {
        let budget = CacheBudget(200_000)
        let store = CacheStore(CacheLimits(), budget: budget)
        for number in 0..<11 { store.put(entry(number, bytes: 16_384)) }
        #expect(store.reserve(65_536) && store.usage.entries < 9 && budget.excess == 0)
        // what is on its way is not given up
        #expect(!store.reserve(180_000) && store.usage.entries == 0)
        store.release(65_536)
        #expect(store.reserve(180_000))
        store.release(180_000)
    }

    @Test func `a cache that ends gives its bytes back`() {
        let budget = CacheBudget(100_000)
        var store: CacheStore? = CacheStore(CacheLimits(), budget: budget)
        store?.put(entry(0, bytes: 65_536))
        store = nil
        let other = CacheStore(CacheLimits(), budget: budget)
        #expect(store == nil && other.reserve(100_000))
    }
}
