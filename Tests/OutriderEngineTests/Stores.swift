// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP
import Testing

@testable import OutriderEngine

/// A directory for stores, which ends with the test.
final class Stores: Sendable {
    let root: String

    init() throws {
        var path = Array("/tmp/outrider-caches-XXXXXX".utf8CString)
        let isMade = path.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map { mkdtemp($0) != nil } }
        try #require(isMade == true)
        root = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { _ = Self.remove(root) }

    private static func remove(_ path: String) -> CInt {
        for name in DirectoryNames.all(in: path) where unlink("\(path)/\(name)") != 0 { _ = remove("\(path)/\(name)") }
        return rmdir(path)
    }

    func open(
        _ name: String = "docs", _ limits: CacheLimits = CacheLimits(), idle: Double = 60, busy: Double = 2
    ) throws -> DiskCache {
        try DiskCache(name, in: root, limits, idleSeconds: idle, busySeconds: busy)
    }

    /// Changes the database behind the service.
    func run(_ sql: String, _ name: String = "docs") throws {
        try SQLiteDatabase("\(root)/\(name)/cache.db").run(sql)
    }

    func integer(_ sql: String, _ name: String = "docs") throws -> Int64 {
        try SQLiteDatabase("\(root)/\(name)/cache.db").integer(sql) ?? -1
    }

    /// Holds the lock of a store, as a busy process would.
    func busy(_ name: String = "docs", _ work: @Sendable () async throws -> Void) async throws {
        let file = Glibc.open("\(root)/\(name)/store.lock", O_RDWR | O_CLOEXEC)
        try #require(file >= 0 && flock(file, LOCK_EX) == 0)
        defer { Glibc.close(file) }
        try await work()
    }
}

/// An entry of the URL of that number.
func entry(
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
    /// The entry that a request selects: of that variant, or of any.
    func found(_ number: Int, variant: Int? = nil) async -> [CachedEntry] {
        let wanted = variant.map { entry(number, variant: $0).id.variant }
        return await withUnsafeContinuation { continuation in
            let lookup = Lookup(key: entry(number).id.key, principal: .empty) { variant, _ in
                wanted == nil || variant == wanted
            } completion: { found in
                continuation.resume(returning: found.entry.map { [$0] } ?? [])
            }
            find(lookup)
        }
    }

    func store(_ entries: [CachedEntry]) async {
        for entry in entries { #expect(put(entry)) }
        await settled()
    }
}
