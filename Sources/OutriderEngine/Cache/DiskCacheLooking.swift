// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// What is asked of a store by hand, not by requests.
extension DiskCache {
    /// Entries in the order of their numbers, from behind one on. Blocks its own thread only.
    package func list(after number: Int64, most: Int) async -> [(number: Int64, entry: CachedEntry)] {
        await onReader { database in
            try database.list(after: number, most: most).compactMap { row in
                row.entry.map { (number: row.number, entry: $0) }
            }
        } ?? []
    }

    /// All entries of a URL.
    package func entries(_ key: CacheDigest) async -> [CachedEntry] {
        let waiting = state.withLock { state in state.pending.values.filter { $0.id.key == key } }
        let found = await onReader { database in try database.find(key).compactMap(\.entry) } ?? []
        return waiting + found.filter { entry in !waiting.contains { $0.id == entry.id } }
    }

    /// Bytes and entries on the disk.
    package func totals() async -> (bytes: Int, entries: Int) {
        let found = await onReader { try $0.totals() }
        return (Int(truncatingIfNeeded: found?.bytes ?? 0), Int(truncatingIfNeeded: found?.entries ?? 0))
    }

    /// What is wrong with the database; nil for nothing.
    package func fault() async -> String? { await onReader { try $0.fault() } ?? nil }

    private func onReader<Value: Sendable>(
        _ work: @escaping @Sendable (CacheDatabase) throws -> Value
    ) async -> Value? {
        await withUnsafeContinuation { continuation in
            Self.reading.run(for: .service, isOwed: true) {
                continuation.resume(returning: self.attempt(self.reader, isReadOnly: true, work))
            }
        }
    }

    /// All changes so far are on the disk.
    package func settled() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isIdle = state.withLock { state in
                if state.isWriting { state.waiting.append { continuation.resume() } }
                return !state.isWriting
            }
            if isIdle { continuation.resume() }
        }
    }
}
