// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// Methods of users, beside the lookups of requests.
extension DiskCache {
    /// Entries in the order of their numbers, without their bodies, and the number behind which the next call continues;
    /// nil behind the last entry. Damaged rows are left out. A list begins when all changes so far are on the disk.
    package func list(after number: Int64, most: Int) async -> CacheStore.Page {
        if number == 0 { await settled() }
        let rows = await onReader { try $0.list(after: number, most: most) } ?? []
        for row in rows where row.entry == nil { drop(row) }
        return CacheStore.Page(
            entries: rows.compactMap { row in row.entry.map { (number: row.number, entry: $0) } },
            next: rows.count < most ? nil : rows.last?.number)
    }

    /// All entries of a URL.
    package func entries(_ key: CacheDigest) async -> [CachedEntry] {
        let waiting = state.withLock { $0.pending.all(of: key) }.map(\.entry)
        let rows = await onReader { try $0.find(key) } ?? []
        let found = rows.compactMap { row -> CachedEntry? in
            guard let entry = row.entry else {
                drop(row)
                return nil
            }
            return isRemoved(entry, row) ? nil : entry
        }
        return waiting + found.filter { entry in !waiting.contains { $0.id == entry.id } }
    }

    /// Bytes and entries on the disk.
    package func totals() async -> (bytes: Int, entries: Int) {
        if lock.isReadOnly { await writes.value { self.renew() } } else { checkPlace() }
        let found = await onReader { try $0.totals() }
        return (Int(truncatingIfNeeded: found?.bytes ?? 0), Int(truncatingIfNeeded: found?.entries ?? 0))
    }

    /// Rows, with their files, that `fault` reads between two looks for a cancellation.
    private static let slice = 100

    /// What is wrong with the store; nil for a sound store. Reads every row and every body, on a thread and a connection of
    /// its own: lookups continue meanwhile. Ends early if the task is cancelled.
    package func fault() async -> String? {
        await settled()
        let found = await onFiles { () -> (String?, CacheDatabase.Totals)? in
            guard self.files.hasDatabase else { return nil }
            let epoch = self.lock.epoch
            do {
                return try self.readApart { (try $0.fault(), try $0.errorOfTotals()) } ?? (self.busyText, (0, 0))
            } catch {
                return (self.complaint(error, epoch), (0, 0))
            }
        }
        guard let (fault, totals) = found else { return nil }
        if let fault { return fault }
        if totals.bytes != 0 || totals.entries != 0 {
            return "the counted bytes or entries differ from the stored ones; the next start corrects them"
        }
        var (number, damaged, first) = (Int64(0), 0, nil as String?)
        while !Task.isCancelled {
            let after = number
            let part = await onFiles { self.damage(after: after) }
            damaged += part.faults.count
            first = first ?? part.faults.first
            guard let next = part.next else { break }
            number = next
        }
        return first.map { "\(damaged) damaged \(damaged == 1 ? "entry" : "entries"), which count as absent: \($0)" }
    }

    private func damage(after number: Int64) -> (faults: [String], next: Int64?) {
        let rows: [CacheDatabase.Row]
        let epoch = lock.epoch
        do {
            let found = try readApart { try $0.list(after: number, most: Self.slice, isWithBodies: true) }
            guard let found else { return ([busyText], nil) }
            rows = found
        } catch {
            return ([complaint(error, epoch)].compactMap { $0 }, nil)
        }
        let faults = rows.compactMap { row -> String? in
            guard let entry = row.entry else { return "row \(row.number) differs from its checksum" }
            guard case .file(let name, let size) = entry.body else { return nil }
            guard files.changed(name, size: size) != nil else {
                // removed since the row was read
                let isGone = (try? readApart { try $0.contains(row.number) }) == false
                return isGone ? nil : "the body of row \(row.number) is missing, or has another length"
            }
            guard let check = row.bodyCheck, let found = files.checksum(name, size: size), found != check else {
                return nil
            }
            return "the body of row \(row.number) differs from its checksum"
        }
        return (faults, rows.count < Self.slice ? nil : rows.last?.number)
    }

    /// Reads on a connection of its own.
    private func readApart<Value>(_ work: (CacheDatabase) throws -> Value) throws -> Value? {
        try read(StoreLock.patience, work) { try opened(isReadOnly: true) }
    }

    private var busyText: String { "another process has used \(files.directory) for seconds without a pause" }

    /// Why the database cannot be read; nil for a database that is not made yet. The writer puts a damaged database aside.
    private func complaint(_ error: any Error, _ epoch: UInt64) -> String? {
        switch error {
        case is CacheDatabase.Unmade: return nil
        case let failure as SQLiteFailure:
            if failure.isDamage { suspect(epoch) }
            return "\(files.database) cannot be read: \(failure.text)"
        case let failure as CacheStoreFailure: return failure.message
        default: return "\(files.database) has the tables of an earlier version, and cannot be updated at present"
        }
    }

    private func onFiles<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withUnsafeContinuation { continuation in
            BlockingThreads.files.run(for: .service, isOwed: true) { continuation.resume(returning: work()) }
        }
    }

    private func onReader<Value: Sendable>(
        _ work: @escaping @Sendable (CacheDatabase) throws -> Value
    ) async -> Value? {
        await reads.value { self.attempt(self.reader, isReadOnly: true, work) }
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
