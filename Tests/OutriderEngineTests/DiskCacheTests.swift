// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP
import Testing

@testable import OutriderEngine

/// A directory for stores, which ends with the test.
private final class Stores: Sendable {
    let root: String

    init() throws {
        var path = Array("/tmp/outrider-caches-XXXXXX".utf8CString)
        let isMade = path.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map { mkdtemp($0) != nil } }
        try #require(isMade == true)
        root = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { _ = Self.remove(root) }

    private static func remove(_ path: String) -> CInt {
        for name in Workspace.names(in: path) where unlink("\(path)/\(name)") != 0 { _ = remove("\(path)/\(name)") }
        return rmdir(path)
    }

    func open(_ name: String = "docs", _ limits: CacheLimits = CacheLimits()) throws -> DiskCache {
        try DiskCache(name, in: root, limits)
    }
}

private func entry(
    _ number: Int, variant: Int = 0, bytes: Int = 10, tags: [String] = [], storedAt: Int64 = 0
) -> CachedEntry {
    let id = CacheEntryID(
        key: CacheDigest(high: UInt64(number), low: 1), principal: .empty,
        variant: CacheDigest(high: 0, low: UInt64(variant)))
    let head = CachedHead(status: 200, reason: "", version: "1.1", [], requestedAt: 0, respondedAt: 0)
    return CachedEntry(
        id: id, url: "http://a.test/\(number)", head: head, vary: [],
        body: .memory(ByteBuffer(repeating: 7, count: bytes)),
        tags: tags, storedAt: storedAt)
}

extension DiskCache {
    fileprivate func found(_ number: Int) async -> [CachedEntry] {
        await withUnsafeContinuation { continuation in
            find(entry(number).id.key, .empty) { continuation.resume(returning: $0) }
        }
    }

    fileprivate func store(_ entries: [CachedEntry]) async {
        for entry in entries { put(entry) }
        await settled()
    }
}

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

    @Test func `a secret of another length is replaced`() async throws {
        let first = try stores.open().secretBytes
        #expect(truncate("\(stores.root)/docs/secret", 5) == 0)
        let second = try stores.open().secretBytes
        #expect(second.count == 32 && second != first)
        #expect(try stores.open().secretBytes == second)
    }
}
