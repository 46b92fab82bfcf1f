// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The memory of a cassette: its entries, what is being recorded, and the values that are masked. Empty if
/// nothing is counted.
struct TapeMemory: Sendable {
    private var entries: MemoryCharge?
    private var values: WaitingMemory?
    private var waiting: WaitingMemory?
    /// There was no room for a value.
    private(set) var isFull = false

    init() {}

    init(_ entries: MemoryCharge?, in quota: BodyQuota) {
        self.entries = entries
        values = WaitingMemory(quota)
        waiting = WaitingMemory(quota)
    }

    /// Counts what is being recorded, also beyond the budget. The memory in the result is given back behind the lock.
    mutating func wait(_ bytes: Int) -> [MemoryCharge] { waiting?.fit(bytes) ?? [] }

    /// Counts the values, also beyond the budget: they are there already.
    mutating func count(_ known: SecretValues) {
        guard let room = values?.room(for: known.bytes) else { return }
        if room < known.bytes { isFull = true }
        // values only become more, so that no memory is given back here
        _ = values?.fit(known.bytes)
    }
}

extension Tape {
    /// Counts the entries and the masked values until the cassette is stopped.
    package func count(_ entries: MemoryCharge?, in quota: BodyQuota) {
        state.withLock { state in
            state.memory = TapeMemory(entries, in: quota)
            state.memory.count(state.mask.values)
        }
    }

    /// The same for the cassette of the service, whose entries count as a quarter of the budget at most: clients need
    /// the rest. Blocks.
    package func countAnyway(in quota: BodyQuota) {
        let size = (try? PosixFile.regularSize(of: settings.path)) ?? nil
        let bytes = min(size.map { Int(clamping: $0) } ?? 0, quota.budget.limit / 4)
        count(bytes > MemoryBudget.counted ? quota.requestAnyway(bytes) : nil, in: quota)
    }

    func countNoMore() {
        // given back behind the lock
        _ = state.withLock { state in
            defer { state.memory = TapeMemory() }
            return state.memory
        }
    }

    /// Why the values cannot all be masked; nil if they can.
    func lacksRoom(for values: SecretValues) -> HTTPFailure? {
        if values.isFull {
            return .unusableCassette(settings.path, "it has more secrets than can be masked: record fewer requests")
        }
        guard state.withLock({ $0.memory.isFull }) else { return nil }
        return .unusableCassette(
            settings.path,
            "the memory of the service has no room for its secrets: record fewer requests, or raise --memory")
    }
}
