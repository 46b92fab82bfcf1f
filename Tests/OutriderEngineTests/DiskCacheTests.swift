// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Testing

@testable import OutriderEngine

struct DiskCacheTests {
    private let stores: Stores

    init() throws { stores = try Stores() }

    @Test func `the checksum is CRC-32C, in steps of eight bytes and of one`() {
        var check = CyclicCheck()
        check.add(Array("123456789".utf8))
        #expect(check.result == 0xE306_9283)
        var parts = CyclicCheck()
        for part in ["1", "2345678", "9"] { parts.add(Array(part.utf8)) }
        #expect(parts.result == check.result)
    }

    @Test func `a flipped byte of a body is a miss, and the body goes`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1, bytes: 100_000), entry(2, bytes: 100_000)])
        #expect(await disk.found(1).count == 1)
        let folder = "\(stores.root)/docs/bodies"
        let paths = DirectoryNames.all(in: folder).flatMap { name in
            DirectoryNames.all(in: "\(folder)/\(name)").map { "\(folder)/\(name)/\($0)" }
        }
        #expect(paths.count == 2)
        for path in paths {
            let file = Glibc.open(path, O_WRONLY | O_CLOEXEC)
            var byte: UInt8 = 9
            #expect(pwrite(file, &byte, 1, 50_000) == 1)
            // the clock of the file system may stand still for milliseconds
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            #expect(futimens(file, &times) == 0)
            Glibc.close(file)
        }
        let fault = await disk.fault()
        #expect(fault?.contains("2 damaged entries") == true)
        // in the process that has read the body before, and in another one
        let other = try stores.open()
        #expect(await disk.found(1).isEmpty)
        #expect(await other.found(2).isEmpty)
        await disk.settled()
        await other.settled()
        #expect(await disk.totals().entries == 0)
        #expect(paths.allSatisfy { access($0, F_OK) != 0 })
        #expect(await disk.fault() == nil)
    }

    @Test func `a damaged row is left out of a list, which goes on behind it`() async throws {
        let disk = try stores.open()
        await disk.store((1...5).map { entry($0) })
        try stores.run("UPDATE entry SET head = x'00' WHERE id IN (2, 3, 5)")
        let fault = await disk.fault()
        #expect(fault?.contains("3 damaged entries") == true)
        var (urls, number, pages) = ([String](), Int64(0), 0)
        while pages < 10 {
            let page = await disk.list(after: number, most: 1)
            urls += page.entries.map(\.entry.url)
            pages += 1
            guard let next = page.next else { break }
            number = next
        }
        #expect(urls == ["http://a.test/1", "http://a.test/4"])
        // the damaged rows are gone, and count no more
        await disk.settled()
        #expect(await disk.totals().entries == 2)
        #expect(await disk.fault() == nil)
    }

    @Test func `a row whose URL or key was changed is damaged`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1), entry(2), entry(3)])
        try stores.run("UPDATE entry SET url = 'http://b.test/' WHERE id = 1")
        try stores.run("UPDATE entry SET variant = randomblob(16) WHERE id = 2")
        #expect(await disk.found(1).isEmpty)
        #expect(await disk.found(2).isEmpty)
        #expect(await disk.found(3).count == 1)
    }

    @Test func `a URL keeps its 32 newest variants`() async throws {
        let disk = try stores.open()
        await disk.store((1...40).map { entry(1, variant: $0, storedAt: Int64($0)) })
        let kept = await disk.entries(entry(1).id.key).map(\.storedAt).sorted()
        #expect(kept == Array(9...40))
    }

    @Test func `a removal that a busy lock held up reaches the next process`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1), entry(2, tags: ["a"]), entry(3)])
        let running = try stores.open()
        #expect(await running.found(1).count == 1)
        try await stores.busy {
            disk.remove(key: entry(1).id.key)
            disk.remove(.tag("a"))
            await disk.close(within: 0.1)
        }
        // a process that runs, and one that starts
        #expect(running.takeChange())
        #expect(await running.found(1).isEmpty)
        let next = try stores.open()
        #expect(await next.found(2).isEmpty)
        #expect(await next.found(3).count == 1)
        await running.settled()
        await next.settled()
        #expect(await next.totals().entries == 1)
        #expect(!DirectoryNames.all(in: "\(stores.root)/docs").contains { $0.hasPrefix("left-") })
    }

    @Test func `an exchange stores nothing that another process has removed meanwhile`() async throws {
        let (disk, other) = (try stores.open(), try stores.open())
        await disk.store([entry(9)])
        let mark = disk.removals
        other.remove(key: entry(1).id.key)
        other.remove(.prefix("http://a.test/2"))
        other.remove(.tag("x"))
        await other.settled()
        #expect(disk.removals.foreign != mark.foreign)
        for stored in [entry(1), entry(2), entry(3, tags: ["x"]), entry(4)] {
            #expect(disk.put(stored, since: mark))
        }
        await disk.settled()
        for number in 1...3 { #expect(await disk.found(number).isEmpty) }
        #expect(await disk.found(4).count == 1)
    }

    @Test func `an entry that waits is not found once another process has removed entries`() async throws {
        let (disk, other) = (try stores.open(busy: 600), try stores.open())
        other.remove(key: entry(2).id.key)
        await other.settled()
        let mark = disk.removals
        try await stores.busy {
            #expect(disk.put(entry(1), since: mark))
            #expect(await disk.found(1).count == 1)
            other.ownRemovals.raise(other.lock)
            #expect(await disk.found(1).isEmpty)
        }
        // the writer has found out that it was another URL
        await disk.settled()
        #expect(await disk.found(1).count == 1)
    }

    @Test func `removals of the same process do not keep later responses out`() async throws {
        let disk = try stores.open()
        let mark = disk.removals
        disk.remove(key: entry(1).id.key)
        #expect(disk.put(entry(1), since: mark))
        await disk.settled()
        #expect(await disk.found(1).count == 1)
    }

    @Test func `a planted total is mended`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        let bytes = await disk.totals().bytes
        await disk.close(within: 20)
        try stores.run("UPDATE total SET bytes = 1000000000, entries = 77")
        let next = try stores.open()
        #expect(await next.fault()?.contains("counted") == true)
        await next.store([entry(2)])
        #expect(await next.totals().entries == 2)
        #expect(await next.totals().bytes == 2 * bytes)
    }

    @Test func `a database that is no database any more is no sound store`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        await disk.close(within: 20)
        let file = Glibc.open("\(stores.root)/docs/cache.db", O_WRONLY | O_CLOEXEC)
        #expect(pwrite(file, [UInt8](repeating: 120, count: 4096), 4096, 0) == 4096)
        Glibc.close(file)
        #expect(await disk.fault()?.contains("cannot be read") == true)
        await disk.settled()
        #expect(disk.problem?.contains("put aside") == true)
        await disk.store([entry(2)])
        #expect(await disk.fault() == nil && disk.problem == nil)
        #expect(await disk.found(2).count == 1)
    }

    @Test func `an earlier database that cannot be updated is told`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        await disk.close(within: 20)
        // the table of removals is there already: the update fails
        try stores.run("ALTER TABLE entry DROP COLUMN bodyCheck")
        let next = try stores.open()
        #expect(await next.found(1).isEmpty)
        #expect(next.problem?.contains("earlier version") == true)
        #expect(!next.put(entry(2)))
    }

    @Test func `a link among the parents of a store is followed`() async throws {
        let (link, real) = ("\(stores.root)/link", "\(stores.root)/real")
        #expect(mkdir(real, 0o700) == 0 && symlink(real, link) == 0)
        let disk = try DiskCache("docs", in: link, CacheLimits())
        await disk.store([entry(1)])
        #expect(await disk.found(1).count == 1 && disk.problem == nil)
        #expect(access("\(real)/docs/cache.db", F_OK) == 0)
        // the store itself is no link
        #expect(symlink("\(real)/docs", "\(real)/other") == 0)
        #expect(throws: CacheStoreFailure.self) { try DiskCache("other", in: real, CacheLimits()) }
    }

    @Test func `all that make a cache at once have one secret`() async throws {
        for round in 1...40 {
            let secrets = try await withThrowingTaskGroup { group in
                for _ in 1...8 { group.addTask { [stores] in try stores.open("docs\(round)").secretBytes } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(try secrets == [stores.open("docs\(round)").secretBytes])
        }
    }

    @Test func `a secret of another length is replaced`() async throws {
        let first = try stores.open().secretBytes
        #expect(truncate("\(stores.root)/docs/secret", 5) == 0)
        let second = try stores.open().secretBytes
        #expect(second.count == 32 && second != first)
        #expect(try stores.open().secretBytes == second)
    }

    @Test func `many rows are removed in many transactions`() async throws {
        let disk = try stores.open()
        await disk.store((1...2000).map { entry($0) })
        let before = StoreLockCounter(stores.root)
        disk.remove(.prefix("http://a.test/"))
        // a later entry with the same prefix stays
        #expect(disk.put(entry(5000)))
        await disk.settled()
        #expect(await disk.totals().entries == 1)
        #expect(StoreLockCounter(stores.root).changes - before.changes >= 4)
    }

    @Test(arguments: [(1032, true), (5898, true), (10, false)])
    func `a database that is removed during a write does not stop storing`(code: Int, goesOn: Bool) async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        await fail(disk, code: CInt(code)) {}
        #expect((disk.problem == nil) == goesOn)
        #expect(disk.put(entry(2)) == goesOn)
        await disk.settled()
        #expect(await disk.totals().entries == (goesOn ? 2 : 1))
    }

    @Test func `a directory that is removed during a write is no failing disk`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        let root = stores.root
        await fail(disk, code: 10) { #expect(rename("\(root)/docs", "\(root)/away") == 0) }
        #expect(disk.isLost)
        #expect(disk.problem?.contains("was removed") == true)
    }

    /// A write during which something happens fails with that code of SQLite.
    private func fail(_ disk: DiskCache, code: CInt, _ work: @escaping @Sendable () -> Void) async {
        let failure = SQLiteFailure(code: code, errno: 2, "step")
        let value: Void? = await disk.writes.value {
            disk.attempt(disk.writer, isReadOnly: false) { (_: CacheDatabase) throws -> Void in
                work()
                throw failure
            }
        }
        #expect(value == nil)
    }

    @Test func `a store that is not used is closed, and opened again`() async throws {
        let disk = try stores.open(idle: 0.05)
        await disk.store([entry(1)])
        var isOpen = true
        for _ in 0..<1000 where isOpen {
            try await Task.sleep(for: .milliseconds(10))
            isOpen = await disk.hasConnection
        }
        #expect(!isOpen)
        #expect(await disk.found(1).count == 1)
    }

    @Test func `a busy store does not hold up others`() async throws {
        // they do not give up while the other store is slow
        let stuck = try (0..<4).map { try stores.open("stuck\($0)", busy: 600) }
        let disk = try stores.open()
        let files = (0..<4).map { Glibc.open("\(stores.root)/stuck\($0)/store.lock", O_RDWR | O_CLOEXEC) }
        defer { for file in files { Glibc.close(file) } }
        for file in files { #expect(flock(file, LOCK_EX) == 0) }
        for store in stuck { #expect(store.put(entry(1))) }
        await disk.store([entry(1)])
        #expect(stuck.allSatisfy { $0.state.withLock { $0.isWriting } })
    }

    @Test func `a full disk is tried again after a minute, whatever the clock on the wall says`() async throws {
        let disk = try stores.open()
        disk.pause("full")
        #expect(!disk.put(entry(1)))
        let left = disk.state.withLock { $0.retryAt } - Clocks.awake
        #expect(left > 0 && left <= 60)
        disk.state.withLock { $0.retryAt = Clocks.awake }
        await disk.store([entry(1)])
        #expect(await disk.found(1).count == 1)
    }

    @Test func `a database of an earlier version keeps its entries`() async throws {
        let disk = try stores.open()
        await disk.store([entry(1)])
        await disk.close(within: 20)
        try stores.run("ALTER TABLE entry DROP COLUMN bodyCheck")
        try stores.run("DROP TABLE removal")
        let packed = try #require(CachedHeadCoding.encode(entry(1).head, vary: [], tags: []))
        var check = CyclicCheck()
        check.add(packed)
        check.add([UInt8](repeating: 7, count: 10))
        try stores.run("UPDATE entry SET checksum = \(check.result)")
        let next = try stores.open()
        #expect(await next.found(1).count == 1)
        await next.store([entry(2)])
        #expect(await next.found(2).count == 1)
    }

    @Test func `damage that only lookups meet puts the database aside`() async throws {
        let disk = try stores.open()
        await disk.store((1...400).map { entry($0, bytes: 2000) })
        await disk.close(within: 20)
        let path = "\(stores.root)/docs/cache.db"
        var info = stat()
        #expect(stat(path, &info) == 0 && info.st_size > 400_000)
        let file = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        // the first pages have the roots of the tables
        for page in 30..<Int(info.st_size) / 4096 {
            #expect(pwrite(file, [UInt8](repeating: 120, count: 4096), 4096, off_t(page * 4096)) == 4096)
        }
        Glibc.close(file)
        for number in 1...400 { _ = await disk.found(number) }
        await disk.settled()
        #expect(DirectoryNames.all(in: "\(stores.root)/docs").contains { $0.hasPrefix("damaged-") })
        await disk.store([entry(1)])
        #expect(await disk.found(1).count == 1)
        #expect(await disk.fault() == nil)
    }

    @Test func `a journal that a kill left behind is rolled back`() async throws {
        let disk = try stores.open()
        let (path, draft) = ("\(stores.root)/docs/cache.db", "\(stores.root)/draft.db")
        Glibc.close(Glibc.open(draft, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        do {
            let database = try SQLiteDatabase(draft)
            // pages reach the file before the end of the transaction
            try database.run("PRAGMA cache_size = 1")
            try database.run("BEGIN IMMEDIATE")
            try database.run("CREATE TABLE a (b BLOB)")
            for _ in 0..<20 { try database.run("INSERT INTO a VALUES (randomblob(5000))") }
            for end in ["", "-journal"] {
                let bytes = try #require(try StoreFile.read(draft + end))
                try StoreFile.write(bytes, to: path + end)
            }
            try database.run("ROLLBACK")
        }
        #expect(throws: SQLiteFailure.self) { try CacheDatabase(path, isReadOnly: true) }
        #expect(await disk.fault() == nil)
        #expect(await disk.found(1).isEmpty)
        #expect(disk.problem == nil)
        await disk.store([entry(1)])
        #expect(await disk.found(1).count == 1)
    }

    @Test func `many prefixes at once are removed in turns`() async throws {
        let disk = try stores.open()
        await disk.store((100...130).map { entry($0) })
        for number in 100...119 { disk.remove(.prefix("http://a.test/\(number)")) }
        #expect(disk.put(entry(119)))
        await disk.settled()
        #expect(await disk.totals().entries == 12)
        #expect(await disk.found(119).count == 1)
    }
}

/// The counter of commits of the store `docs`.
private struct StoreLockCounter {
    let changes: UInt64

    init(_ root: String) { changes = (try? StoreLock("\(root)/docs/store.lock"))?.changes ?? 0 }
}
