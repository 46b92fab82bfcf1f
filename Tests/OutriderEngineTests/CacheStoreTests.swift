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

    @Test func `caches share one budget, and each gives up its own entries only`() {
        let budget = CacheBudget(200_000)
        let first = CacheStore(CacheLimits(), budget: budget)
        let second = CacheStore(CacheLimits(), budget: budget)
        for number in 0..<2 { first.put(entry(number, bytes: 65_536)) }
        let before = first.usage
        for number in 0..<5 { second.put(entry(number, bytes: 16_384)) }
        let room = (200_000 - before.bytes) / entry(0, bytes: 16_384).cost
        #expect(first.usage == before && second.usage.entries == room && room < 5)
        #expect(!second.reserve(65_536))
        first.change(CacheLimits(maxBytes: 0))
        #expect(second.reserve(65_536))
        second.release(65_536)
        #expect(budget.excess == 0)
    }

    @Test func `a cache that ends gives its bytes back`() {
        let budget = CacheBudget(100_000)
        var store: CacheStore? = CacheStore(CacheLimits(), budget: budget)
        store?.put(entry(0, bytes: 65_536))
        store = nil
        #expect(budget.take(100_000) && store == nil)
    }
}
