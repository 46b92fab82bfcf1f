// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Changes, which wait in memory until the writer takes them.
extension DiskCache {
    /// Stores the entry.
    ///
    /// - Parameters:
    ///   - mark: `removals` before the exchange began. The entry is not stored if another process has removed its URL since;
    ///     nil for an entry of the caller's own.
    /// - Returns: whether the entry is on its way: `release` follows for the bytes of its body.
    func put(_ entry: CachedEntry, since mark: RemovalCount.Mark? = nil) -> Bool {
        let size = entry.body.size
        let isTaken = state.withLock { state in
            guard !state.isLost, !state.isPaused, state.bytes &+ size <= Self.mostWaiting,
                state.changes.waiting.count < Self.mostQueued
            else { return false }
            state.bytes &+= size
            state.pending[entry.id] = PendingEntry(entry: entry, since: mark)
            return true
        }
        if isTaken { enqueue(.put(entry, since: mark)) }
        return isTaken
    }

    func remove(_ id: CacheEntryID) {
        state.withLock { $0.pending[id] = nil }
        enqueue(.remove(id))
    }

    /// Removes the entry of the disk, in whose place a newer one is in memory only, or none. An entry that was stored
    /// since the lookup, by this process or another process, stays.
    func supersede(_ entry: CachedEntry) {
        let (id, moment) = (entry.id, entry.storedAt)
        state.withLock { state in
            if let waiting = state.pending[id]?.entry, waiting.storedAt <= moment { state.pending[id] = nil }
        }
        enqueue(.supersede(id, storedUpTo: moment))
    }

    func remove(key: CacheDigest) {
        state.withLock { $0.pending.remove(key) }
        enqueue(.removeKey(key))
    }

    /// Removes the entries that the purge selects.
    func remove(_ purge: CachePurge) {
        state.withLock { $0.pending.removeAll { purge.matches($0) } }
        enqueue(.purge(purge))
    }

    /// Limit of the marks of use in memory, and their number from which on the writer writes them.
    private static let (mostUsed, manyUsed) = (16_384, 1024)

    /// The entries were used.
    func use(_ ids: [CacheEntryID]) {
        guard !ids.isEmpty else { return }
        state.withLock { $0.used.formUnion(ids.prefix(Self.mostUsed - min(Self.mostUsed, $0.used.count))) }
    }

    var isUsedFull: Bool { state.withLock { $0.used.count >= Self.manyUsed } }

    func change(_ limits: CacheLimits) {
        state.withLock { $0.limits = limits }
        enqueue(.wake)
    }

    func enqueue(_ change: CacheChange) {
        let (begins, dropped) = state.withLock { state in
            state.lastUse = Clocks.awake
            var dropped = 0
            if state.changes.waiting.count < 2 * Self.mostQueued {
                state.changes.append(change)
            } else if change.isRemoval {
                // a disk that takes nothing: at the end, every entry goes
                state.pending.removeAll()
                for case .put(let entry, _) in state.changes.takeWaiting() { dropped &+= entry.body.size }
                state.bytes &-= dropped
                state.changes.append(.purge(.all))
            }
            defer { state.isWriting = true }
            return (!state.isWriting, dropped)
        }
        if dropped > 0 { attached?.written(dropped) }
        if begins { writes.run { self.write() } }
    }

    /// Closes the connections when the store has not been used for a while.
    func watch() {
        let begins = state.withLock { state in
            state.lastUse = Clocks.awake
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard begins else { return }
        let seconds = idleSeconds
        Task { [weak self] in
            repeat {
                do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
            } while await self?.closeIfIdle() == false
        }
    }

    /// Whether the connections are closed.
    private func closeIfIdle() async -> Bool {
        let isIdle = state.withLock { state in
            let isIdle = !state.isWriting && !state.isReading && Clocks.awake - state.lastUse >= idleSeconds
            if isIdle { state.isWatched = false }
            return isIdle
        }
        if isIdle { await closeConnections() }
        return isIdle
    }

    func closeConnections() async {
        await reads.value { self.reader.database = nil }
        await writes.value {
            self.noteUse(isDue: true)
            // the last connection moves the log into the database
            _ = self.lock.hold(self.patienceLeft) { self.writer.database = nil }
            self.writer.database = nil
        }
    }

    var hasConnection: Bool {
        get async {
            let reads = await reads.value { self.reader.database != nil }
            return await writes.value { self.writer.database != nil } || reads
        }
    }
}
