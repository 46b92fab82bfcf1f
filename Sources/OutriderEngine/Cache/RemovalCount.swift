// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The removals by this process among those that the file of the lock counts for all processes.
///
/// Readers never wait: a mark that is taken while the writer counts is vague, and differs from every other mark.
final class RemovalCount: Sendable {
    /// Twice the own removals, and 1 more while the file is written.
    private let own = Atomic<UInt64>(0)

    /// The removals up to a moment.
    struct Mark: Sendable {
        /// By all processes.
        var count: UInt64
        /// By other processes; nil for a vague mark.
        var foreign: UInt64?

        /// Whether other processes may have removed entries between the marks.
        func differs(from other: Mark) -> Bool { foreign == nil || foreign != other.foreign }
    }

    func mark(_ lock: StoreLock) -> Mark {
        let before = own.load(ordering: .acquiring)
        let count = lock.removals
        let after = own.load(ordering: .acquiring)
        let isSteady = before == after && before.isMultiple(of: 2)
        return Mark(count: count, foreign: isSteady ? count &- before / 2 : nil)
    }

    /// With the lock, on the writer.
    func raise(_ lock: StoreLock) {
        own.add(1, ordering: .acquiringAndReleasing)
        if lock.raiseRemovals() {
            own.add(1, ordering: .releasing)
        } else {
            own.subtract(1, ordering: .releasing)
        }
    }
}
