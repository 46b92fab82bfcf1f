// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderTransport
import Synchronization

/// What the writing thread does: batches, eviction, checkpoints.
extension DiskCache {
    func write() {
        while true {
            let batch = state.withLock { state in
                if let end = state.closesBy, Clocks.awake > end { state.changes = [] }
                if !state.changes.isEmpty, !state.kept.isEmpty {
                    state.changes = state.kept + state.changes
                    state.kept = []
                }
                let batch = Array(Self.batch(of: state.changes))
                state.changes.removeFirst(batch.count)
                state.underway = batch
                if batch.isEmpty { state.isWriting = false }
                return batch
            }
            if batch.isEmpty {
                tidy()
                let waiting = state.withLock { state in
                    // changes that came meanwhile are waited for as well
                    if state.isWriting { return [] as [@Sendable () -> Void] }
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for work in waiting { work() }
                return
            }
            let isWritten = write(batch)
            let isMore = state.withLock { state in
                state.underway = []
                return isWritten && !state.changes.isEmpty
            }
            if isMore { usleep(Self.turnMicroseconds) }
        }
    }

    private static func batch(of changes: [Change]) -> ArraySlice<Change> {
        var bytes = 0
        let count = changes.prefix(mostChanges).prefix { change in
            defer { if case .put(let entry) = change { bytes &+= entry.body.size } }
            return bytes < mostBatchBytes
        }.count
        return changes.prefix(count)
    }

    /// Whether the batch is on the disk.
    private func write(_ batch: [Change]) -> Bool {
        let stores = batch.contains { if case .put = $0 { true } else { false } }
        var batch = batch
        if stores, !hasRoom {
            pause("there is too little room on the disk of \(files.directory)")
            forget(batch)
            batch.removeAll { if case .put = $0 { true } else { false } }
            if batch.isEmpty { return false }
        }
        let (names, isFull) = writeBodies(of: batch)
        let hour = CacheClock.now / 3_600_000
        let outdates = batch.contains { if case .use = $0 { false } else { true } }
        let written = lock.hold {
            let removed = attempt(writer, isReadOnly: false) { database in
                try database.change { changes throws(SQLiteFailure) in
                    for change in batch { try self.apply(change, names, hour, to: &changes) }
                }
            }
            if removed != nil, outdates { raiseMark() }
            return removed
        }
        forget(batch)
        guard let removed = written ?? nil else {
            files.remove(Array(names.values))
            keepRemovals(of: batch)
            return false
        }
        files.remove(removed)
        state.withLock { if !isFull { $0.problem = nil } }
        if isFull { pause("there is no room for bodies in \(files.directory)") }
        note(batch)
        evict()
        return true
    }

    /// Bodies of their own come first: a row never names a file that is not whole.
    private func writeBodies(of batch: [Change]) -> (names: [ObjectIdentifier: String], isFull: Bool) {
        var names: [ObjectIdentifier: String] = [:]
        var isFull = false
        for case .put(let entry) in batch {
            guard case .memory(let buffer) = entry.body, buffer.readableBytes > CacheStore.hotBody else { continue }
            guard let name = files.write(Array(buffer.readableBytesView)) else {
                isFull = true
                continue
            }
            names[ObjectIdentifier(entry)] = name
        }
        return (names, isFull)
    }

    private var hasRoom: Bool {
        var info = statvfs()
        guard statvfs(files.directory, &info) == 0 else { return true }
        let (free, all) = (
            UInt64(info.f_bavail) &* UInt64(info.f_frsize), UInt64(info.f_blocks) &* UInt64(info.f_frsize)
        )
        return free >= min(Self.leastFree, all / 20)
    }

    /// What could not be removed is not found any more, and is removed with the next batch.
    private func keepRemovals(of batch: [Change]) {
        let removals = batch.filter(\.isRemoval)
        guard !removals.isEmpty, writer.epoch == lock.epoch else { return }
        state.withLock { state in state.kept = Array((state.kept + removals).suffix(Self.mostQueued)) }
    }

    private func note(_ batch: [Change]) {
        for change in batch {
            if case .put(let entry) = change { writer.written &+= entry.body.size &+ 4096 }
            if change.isRemoval { writer.hasFreed = true }
        }
        guard writer.written > Self.checkpointBytes else { return }
        writer.written = 0
        _ = lock.hold { writer.database?.checkpoint() }
    }

    private func apply(
        _ change: Change, _ names: [ObjectIdentifier: String], _ hour: Int64, to changes: inout CacheDatabase.Changes
    ) throws(SQLiteFailure) {
        switch change {
        case .put(let entry):
            // removed again while it waited
            guard state.withLock({ $0.pending[entry.id] === entry }) else {
                if let name = names[ObjectIdentifier(entry)] { files.remove([name]) }
                return
            }
            if case .file(let name, _) = entry.body { return try changes.put(entry, file: name, hour: hour) }
            let name = names[ObjectIdentifier(entry)]
            guard name != nil || entry.body.isHot else { return }
            try changes.put(entry, file: name, hour: hour)
        case .remove(let id):
            try changes.remove("urlKey = ? AND principal = ? AND variant = ?") { statement in
                statement.bind(1, id.key.bytes)
                statement.bind(2, id.principal.bytes)
                statement.bind(3, id.variant.bytes)
            }
        case .removeKey(let key): try changes.remove("urlKey = ?") { $0.bind(1, key.bytes) }
        case .removeWhere(let purge): try purge.apply(to: &changes)
        case .use(let number): if number > 0 { try changes.use(number, hour: hour) }
        }
    }

    /// Other processes forget what they have in memory; this one knows what it changed itself.
    private func raiseMark() {
        let before = lock.changes
        lock.raiseChanges()
        let after = lock.changes
        state.withLock { if $0.mark == before { $0.mark = after } }
    }

    private func forget(_ batch: [Change]) {
        state.withLock { state in
            for case .put(let entry) in batch {
                state.bytes &-= entry.body.size
                if state.pending[entry.id] === entry { state.pending[entry.id] = nil }
            }
        }
    }

    /// Gives up the entries that were not used for longest, a few in each transaction.
    private func evict() {
        let limits = state.withLock { $0.limits }
        guard var totals = attempt(writer, isReadOnly: false, { try $0.totals() }),
            totals.bytes > Int64(limits.maxBytes) || totals.entries > Int64(limits.maxEntries)
        else { return }
        // a little more than necessary, so that not each entry evicts one
        let bytes = Int64(limits.maxBytes - limits.maxBytes / 20)
        let entries = Int64(limits.maxEntries - limits.maxEntries / 20)
        for _ in 0..<10_000 where totals.entries > 1 && (totals.bytes > bytes || totals.entries > entries) {
            let isLate = state.withLock { state in state.closesBy.map { Clocks.awake > $0 } ?? false }
            if isLate { return }
            let excess = (bytes: totals.bytes - bytes, entries: min(totals.entries - entries, totals.entries - 1))
            let removed = lock.hold {
                attempt(writer, isReadOnly: false) { database -> [String] in
                    let most = try database.oldest(freeing: excess.bytes, entries: excess.entries)
                    return try database.change { changes throws(SQLiteFailure) in
                        // the order of the index: any other order would sort all entries of an hour
                        let count = try changes.remove(
                            "id IN (SELECT id FROM entry ORDER BY usedHour, size LIMIT \(most))")
                        self.state.withLock { $0.evicted += count }
                    }
                }
            }
            guard let removed = removed ?? nil else { return }
            files.remove(removed)
            writer.hasFreed = true
            raiseMark()
            guard let now = attempt(writer, isReadOnly: false, { try $0.totals() }) else { return }
            // wrong totals promise rows that are not there
            if now.entries >= totals.entries { return }
            totals = now
        }
    }

    /// At rest: gives free pages back, and removes what killed processes have left.
    private func tidy() {
        guard let database = writer.database else { return }
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
    }

    /// Writes what waits, for two seconds at most, and closes the database.
    package func close() async {
        state.withLock { $0.closesBy = Clocks.awake + 2 }
        await settled()
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            Self.reading.run(for: .service, isOwed: true) {
                self.reader.database = nil
                continuation.resume()
            }
        }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            Self.writing.run(for: .service, isOwed: true) {
                // the last connection moves the log into the database
                _ = self.lock.hold { self.writer.database = nil }
                continuation.resume()
            }
        }
    }
}
