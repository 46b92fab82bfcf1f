// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Synchronization

/// The writer: batches of changes, each in a short transaction.
extension DiskCache {
    private enum Outcome {
        case written, busy, failed
    }

    /// Limits of the changes and bytes in a transaction.
    private static let mostChanges = 256
    private static let mostBatchBytes = 4 << 20
    /// Limit of the rows that a transaction removes.
    static let mostRows = 512
    /// Other processes get the lock between two batches.
    static let turnMicroseconds: useconds_t = 5000
    /// Longest wait for the lock, in seconds, before other stores get the thread.
    static let patience = 0.25
    private static let retrySeconds = 5.0
    /// Storing ends when less is free, or less than a twentieth of a small disk.
    private static let leastFree: UInt64 = 1 << 30

    /// Writes a batch; the next batch follows behind the work of other stores.
    func write() {
        renew()
        adoptLeftovers()
        noteUse()
        // a piece of eviction and a batch, in turns
        let isEvicting = evictSome()
        guard let batch = takeBatch() else { return isEvicting ? writes.run { self.write() } : rest() }
        switch write(batch) {
        case .written, .failed:
            let isStuck = state.withLock { state in
                state.changes.finish()
                state.busySince = nil
                // every further batch would consist of these removals
                return state.changes.kept.count >= Self.mostChanges
            }
            if isStuck { giveUpWaiting(areLost: true) }
        case .busy: giveWay(batch)
        }
        if state.withLock({ !$0.changes.waiting.isEmpty }) { usleep(Self.turnMicroseconds) }
        writes.run { self.write() }
    }

    private func takeBatch() -> [CacheChange]? {
        // the time to write is over: removals are left to the next process
        if isLate { giveUpWaiting() }
        return state.withLock { state in
            let isLate = state.closesBy.map { Clocks.awake > $0 } ?? false
            if !state.changes.waiting.isEmpty, !isLate { state.changes.resume() }
            var bytes = 0
            let count = state.changes.waiting.prefix(Self.mostChanges).prefix { change in
                defer { if case .put(let entry, _) = change { bytes &+= entry.body.size } }
                return bytes < Self.mostBatchBytes
            }.count
            return count == 0 ? nil : state.changes.take(count)
        }
    }

    /// Keeps the removals that wait; entries go.
    private func giveUpWaiting(areLost: Bool = false) {
        forget(state.withLock { $0.changes.giveUpWaiting(most: Self.mostQueued) }, areLost: areLost)
    }

    /// Nothing waits any more: callers of `settled` continue.
    private func rest() {
        tidy()
        let found = state.withLock { state -> (waiting: [@Sendable () -> Void], retries: Bool)? in
            // changes that came meanwhile are waited for as well
            if !state.changes.waiting.isEmpty { return nil }
            state.isWriting = false
            let retries = !state.changes.kept.isEmpty && !state.isRetrying && state.closesBy == nil
            if retries { state.isRetrying = true }
            defer { state.waiting = [] }
            return (state.waiting, retries)
        }
        guard let (waiting, retries) = found else { return writes.run { self.write() } }
        for work in waiting { work() }
        if retries { retryLater() }
    }

    private func retryLater() {
        Task { [weak self] in
            do { try await Task.sleep(for: .seconds(Self.retrySeconds)) } catch {}
            self?.state.withLock { $0.isRetrying = false }
            self?.enqueue(.wake)
        }
    }

    /// Another process holds the lock: the batch is tried again, for a while with its entries, then without.
    private func giveWay(_ batch: [CacheChange]) {
        let isOver = state.withLock { state in
            let since = state.busySince ?? Clocks.awake
            state.busySince = since
            let isOver = Clocks.awake - since >= busySeconds || state.closesBy.map { Clocks.awake > $0 } ?? false
            if isOver { state.busySince = nil } else { state.changes.putBack() }
            return isOver
        }
        guard isOver else { return }
        forget(batch, areLost: true)
        keepRemovals(of: batch)
        state.withLock { $0.changes.finish() }
        pause("another process has used \(files.directory) for seconds without a pause")
    }

    private func write(_ batch: [CacheChange]) -> Outcome {
        if isLost {
            // with the directory, all entries are gone that a removal could name
            dropBodies(of: batch)
            forget(batch)
            return .failed
        }
        var batch = batch
        let stores = batch.contains { if case .put = $0 { true } else { false } }
        if stores, !hasRoom {
            pause("there is too little room on the disk of \(files.directory)")
            forget(batch, areLost: true)
            batch.removeAll { if case .put = $0 { true } else { false } }
            if batch.isEmpty { return .failed }
        }
        let isFull = writeBodies(of: batch)
        let outdates = batch.contains { if case .wake = $0 { false } else { true } }
        let result = lock.hold(patienceLeft) { () -> CacheDatabase.Changes? in
            putAsideIfSuspected()
            let changes = attempt(writer, isReadOnly: false) { try self.commit(batch, to: $0) }
            if let changes, changes.removes { raiseRemovals() }
            if changes != nil, outdates { raiseMark() }
            return changes
        }
        // the next attempt uses the same files of bodies
        guard let result else { return .busy }
        guard let changes = result else {
            dropBodies(of: batch)
            forget(batch, areLost: true)
            keepRemovals(of: batch)
            return .failed
        }
        for case .put(let entry, _) in batch { writer.bodies[ObjectIdentifier(entry)] = nil }
        let done = batch.filter { if case .forget = $0 { true } else { false } }
        // what others have left stays on disk until the last of it is removed
        goOn(with: changes.rest, then: done)
        forget(batch)
        files.remove(changes.files)
        if changes.rest.isEmpty { for case .forget(let path) in done { unlink(path) } }
        if isFull {
            pause("there is no room for bodies in \(files.directory)")
        } else if batch.contains(where: { if case .put = $0 { true } else { false } }) {
            state.withLock { if !$0.isPaused { $0.problem = nil } }
        }
        note(batch)
        return .written
    }

    /// The rows beyond the limit of a transaction are removed in further transactions, before later changes.
    private func goOn(with rest: [(selection: CacheDatabase.Selection, change: CacheChange)], then last: [CacheChange])
    {
        guard !rest.isEmpty else { return }
        let next = rest.map { selection, change -> CacheChange in
            if case .rest(_, let first) = change { return .rest(selection, of: first) }
            return .rest(selection, of: change)
        }
        state.withLock { $0.changes.prepend(next + last) }
    }

    /// A body in a file of its own.
    struct BodyFile {
        /// Keeps the entry, which identifies the file.
        var entry: CachedEntry
        var name: String
        var check: Int64
    }

    /// Removes files of bodies that no row will name.
    private func dropBodies(of batch: [CacheChange]) {
        for case .put(let entry, _) in batch {
            if let body = writer.bodies.removeValue(forKey: ObjectIdentifier(entry)) { files.remove([body.name]) }
        }
    }

    /// The same for all bodies.
    func dropBodies() {
        files.remove(writer.bodies.values.map(\.name))
        writer.bodies = [:]
    }

    /// Bodies of their own come first: a row never names a file that is not whole. Returns whether there was too little room.
    private func writeBodies(of batch: [CacheChange]) -> Bool {
        var isFull = false
        for case .put(let entry, _) in batch {
            guard case .memory(let buffer) = entry.body, buffer.readableBytes > CacheStore.hotBody,
                writer.bodies[ObjectIdentifier(entry)] == nil
            else { continue }
            let bytes = Array(buffer.readableBytesView)
            guard let name = files.write(bytes) else {
                isFull = true
                continue
            }
            var check = CyclicCheck()
            check.add(bytes)
            writer.bodies[ObjectIdentifier(entry)] = BodyFile(entry: entry, name: name, check: check.result)
        }
        return isFull
    }

    private var hasRoom: Bool {
        var info = statvfs()
        guard statvfs(files.directory, &info) == 0 else { return true }
        let (free, all) = (
            UInt64(info.f_bavail) &* UInt64(info.f_frsize), UInt64(info.f_blocks) &* UInt64(info.f_frsize)
        )
        return free >= min(Self.leastFree, all / 20)
    }

    /// Lookups do not find entries whose removal failed; the next batch removes them.
    private func keepRemovals(of batch: [CacheChange]) {
        let removals = batch.filter(\.isLasting)
        if removals.isEmpty { return }
        state.withLock { $0.changes.keep(removals, most: Self.mostQueued) }
    }

    private func note(_ batch: [CacheChange]) {
        for change in batch {
            if case .put(let entry, _) = change {
                writer.written &+= entry.body.size &+ 4096
                writer.mayExceed = true
            }
            if case .wake = change { writer.mayExceed = true }
            if change.isRemoval { writer.hasFreed = true }
        }
        checkpoint()
    }

    /// One transaction for the batch.
    private func commit(
        _ batch: [CacheChange], to database: CacheDatabase
    ) throws(SQLiteFailure) -> CacheDatabase.Changes {
        let mark = removals
        let hour = CacheClock.now / 3_600_000
        return try database.change { changes throws(SQLiteFailure) in
            for change in batch {
                try changes.remove(for: change)
                try changes.record(change, mark: mark.count &+ 1, origin: origin)
                if case .put(let entry, let since) = change {
                    let body = writer.bodies[ObjectIdentifier(entry)]
                    try self.store(entry, body, since: since, mark, hour, in: &changes)
                }
            }
            // before the commit as well: a process that is killed behind the commit raises nothing
            if changes.removes {
                raiseRemovals()
                raiseMark()
            }
        }
    }

    private func store(
        _ entry: CachedEntry, _ body: BodyFile?, since: RemovalCount.Mark?, _ mark: RemovalCount.Mark, _ hour: Int64,
        in changes: inout CacheDatabase.Changes
    ) throws(SQLiteFailure) {
        // removed again during the wait, by this process or another process
        var isGone = state.withLock { $0.pending[entry.id]?.entry !== entry }
        if !isGone, let since, mark.differs(from: since) {
            isGone = try changes.isRemoved(entry, since: since.count, origin: origin)
        }
        if isGone {
            if let body { changes.files.append(body.name) }
            return
        }
        if case .file(let name, _) = entry.body { return try changes.put(entry, file: name, check: nil, hour: hour) }
        // no room for the body: what is stored there is older
        guard body != nil || entry.body.isHot else { return try changes.remove(for: .remove(entry.id)) }
        try changes.put(entry, file: body?.name, check: body?.check, hour: hour)
    }

    /// Other processes forget their entries in memory; this process knows its own changes.
    func raiseMark() {
        let before = lock.news
        lock.raiseChanges()
        let after = lock.news
        // more than one: a process without the lock has left removals
        state.withLock { if $0.mark == before, after == before &+ 1 { $0.mark = after } }
    }

    /// Exchanges of other processes find out whether their responses were removed.
    private func raiseRemovals() { ownRemovals.raise(lock) }

    /// The entries do not wait any more.
    ///
    /// - Parameter areLost: they are not on the disk.
    private func forget(_ batch: [CacheChange], areLost: Bool = false) {
        var freed = 0
        state.withLock { state in
            for case .put(let entry, _) in batch {
                freed &+= entry.body.size
                if state.pending[entry.id]?.entry === entry { state.pending[entry.id] = nil }
            }
            state.bytes &-= freed
        }
        if freed > 0 { attached?.written(freed) }
        guard areLost else { return }
        for case .put(let entry, _) in batch { attached?.lost(entry) }
    }
}
