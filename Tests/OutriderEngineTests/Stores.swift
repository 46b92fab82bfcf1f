// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
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
        for name in Workspace.names(in: path) where unlink("\(path)/\(name)") != 0 { _ = remove("\(path)/\(name)") }
        return rmdir(path)
    }

    func open(_ name: String = "docs", _ limits: CacheLimits = CacheLimits(), idle: Double = 60) throws -> DiskCache {
        try DiskCache(name, in: root, limits, idleSeconds: idle)
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
