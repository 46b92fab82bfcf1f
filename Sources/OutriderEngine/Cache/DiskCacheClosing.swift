// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The end of a store, and removals that an ended process could not write.
extension DiskCache {
    /// Writes pending changes, for a limited time in seconds, and closes the connections. Removals that could not be
    /// written, because another process holds the lock, are left in a file for the next process.
    package func close(within seconds: Double = 2) async {
        state.withLock { $0.closesBy = Clocks.awake + seconds }
        await settled()
        await writes.value { self.leaveRemovals() }
        await closeConnections()
        state.withLock { $0.closesBy = nil }
    }

    private func leaveRemovals() {
        let removals = state.withLock { $0.changes.takeKept() }
        let lines = removals.compactMap(\.line)
        guard !lines.isEmpty, !isLost else { return }
        if !files.leave(lines) {
            // not even that: without the database no removed entry comes back
            files.dropDatabase()
            lock.raiseEpoch()
        }
        lock.raiseLeftovers()
    }

    /// Takes over the removals that other processes have left since the last look.
    func adoptLeftovers() {
        let count = lock.leftovers
        // a lookup waits until the removals are queued
        adopted.withLock { known in
            guard known != count else { return }
            for (path, lines) in files.leftovers() {
                for change in lines.map({ CacheChange(line: $0) }) {
                    // before the removal waits: a response that is put later finds out by itself
                    attached?.adopted(change)
                    enqueue(change)
                }
                enqueue(.forget(path))
            }
            known = count
        }
    }
}
