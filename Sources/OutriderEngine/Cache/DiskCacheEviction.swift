// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// The size of the store: eviction, checkpoints, and the work at rest.
extension DiskCache {
    /// Bytes that are written between two checkpoints.
    private static let checkpointBytes = 1 << 20
    /// Limit of the transactions in a piece of work.
    private static let mostSteps = 16
    /// Limit of the marks of use in a transaction.
    private static let mostMarks = 256

    /// The service ends, and the time to write is over.
    var isLate: Bool { state.withLock { state in state.closesBy.map { Clocks.awake > $0 } ?? false } }

    /// Longest wait for the lock, in seconds: less while the store closes.
    var patienceLeft: Double {
        let end = state.withLock { $0.closesBy }
        return end.map { min(Self.patience, max(0.01, $0 - Clocks.awake)) } ?? Self.patience
    }

    /// Removes the entries that were not used for longest, a few in each transaction; whether entries went and there is more
    /// to remove.
    func evictSome() -> Bool {
        guard writer.mayExceed, writer.database != nil, writer.epoch == lock.epoch, !isLate else { return false }
        // whatever ends this early: the next stored entry tries again
        writer.mayExceed = false
        let limits = state.withLock { $0.limits }
        guard var totals = totals(),
            totals.bytes > Int64(limits.maxBytes) || totals.entries > Int64(limits.maxEntries)
        else { return false }
        // wrong totals must not evict entries
        if !writer.isCounted {
            guard mendTotals() != nil, let right = self.totals() else { return false }
            totals = right
        }
        noteUse(isDue: true)
        // a little more than necessary, so that not every stored entry causes an eviction
        let bytes = Int64(limits.maxBytes - limits.maxBytes / 20)
        let entries = Int64(limits.maxEntries - limits.maxEntries / 20)
        for _ in 0..<Self.mostSteps {
            guard totals.entries > 1, totals.bytes > bytes || totals.entries > entries, !isLate else { return false }
            let excess = (bytes: totals.bytes - bytes, entries: min(totals.entries - entries, totals.entries - 1))
            guard let step = evict(excess.bytes, excess.entries) else { return false }
            guard step.removed > 0 else {
                // the totals promise rows that are not there
                writer.isCounted = false
                return false
            }
            totals = step.totals
            usleep(Self.turnMicroseconds)
        }
        writer.mayExceed = true
        return true
    }

    private func totals() -> CacheDatabase.Totals? {
        lock.hold(Self.patience) { attempt(writer, isReadOnly: false) { try $0.totals() } } ?? nil
    }

    /// Evicts in a single transaction; nil if the transaction failed.
    private func evict(_ bytes: Int64, _ entries: Int64) -> (removed: Int, totals: CacheDatabase.Totals)? {
        let found = lock.hold { () -> (changes: CacheDatabase.Changes, totals: CacheDatabase.Totals)? in
            let found = attempt(writer, isReadOnly: false) { database in
                let numbers = try database.oldest(freeing: bytes, entries: entries)
                let list = numbers.map(String.init).joined(separator: ",")
                let changes = try database.change { changes throws(SQLiteFailure) in
                    try changes.remove(.init("id IN (\(list))"), most: Self.mostRows)
                }
                return (changes: changes, totals: try database.totals())
            }
            if found != nil { raiseMark() }
            return found
        }
        guard let (changes, totals) = found ?? nil else { return nil }
        let removed = -Int(truncatingIfNeeded: changes.entries)
        state.withLock { $0.evicted += removed }
        files.remove(changes.files)
        writer.hasFreed = true
        checkpoint(after: Self.mostRows &* 256)
        return (removed, totals)
    }

    /// Writes which entries were used: once an hour, before each eviction, and at the end.
    func noteUse(isDue: Bool = false) {
        let hour = CacheClock.now / 3_600_000
        guard isDue || writer.usedHour != hour || isUsedFull else { return }
        writer.usedHour = hour
        let fromMemory = attached?.takeUsed() ?? []
        var ids = state.withLock { state in
            defer { state.used = [] }
            return state.used
        }
        ids.formUnion(fromMemory)
        var rest = Array(ids)
        while !rest.isEmpty, !isLate {
            let slice = rest.suffix(Self.mostMarks)
            let isWritten = lock.hold(Self.patience) { () -> Bool in
                attempt(writer, isReadOnly: false) { database in
                    _ = try database.change { changes throws(SQLiteFailure) in
                        for id in slice { try changes.use(id, hour: hour) }
                    }
                } != nil
            }
            // another process holds the lock: the next occasion writes them
            guard let isWritten else { return use(rest) }
            guard isWritten else { return }
            checkpoint(after: slice.count &* 1024)
            rest.removeLast(slice.count)
            if !rest.isEmpty { usleep(Self.turnMicroseconds) }
        }
    }

    /// Moves the log into the database when enough was written.
    func checkpoint(after bytes: Int = 0) {
        writer.written &+= bytes
        guard writer.written > Self.checkpointBytes else { return }
        writer.written = 0
        _ = lock.hold { writer.database?.checkpoint() }
    }

    /// At rest: gives free pages back, mends the totals, and removes the files that killed processes have left.
    func tidy() {
        dropBodies()
        guard let database = writer.database, !isLate, !isLost else { return }
        if writer.hasFreed {
            writer.hasFreed = false
            _ = lock.hold { attempt(writer, isReadOnly: false) { try $0.shrink() } }
        }
        guard !writer.isCleaned else { return }
        writer.isCleaned = true
        do throws(SQLiteFailure) {
            files.clean(now: CacheClock.now, known: try database.fileNames())
        } catch {
            // the next start tries again
        }
        if mendTotals() == true { enqueue(.wake) }
    }

    /// Compares the totals with the rows, once; whether they were wrong, or nil if they could not be compared and mended.
    private func mendTotals() -> Bool? {
        guard !writer.isCounted else { return false }
        // in one transaction: another service may count at the same time
        let mended = lock.hold(Self.patience) {
            attempt(writer, isReadOnly: false) { database in
                try database.change { changes throws(SQLiteFailure) in
                    (changes.bytes, changes.entries) = try database.errorOfTotals()
                }
            }
        }
        guard let changes = mended ?? nil else { return nil }
        writer.isCounted = true
        guard changes.bytes != 0 || changes.entries != 0 else { return false }
        writer.mayExceed = true
        return true
    }
}
