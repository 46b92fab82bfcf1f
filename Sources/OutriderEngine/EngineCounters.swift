// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Requests and bytes since the start of the service.
package struct EngineCounts: Sendable, Equatable {
    package var running = 0
    package var total = 0
    /// Ended with a failure, cancelling included.
    package var failed = 0
    package var bytesSent = 0
    package var bytesReceived = 0
}

/// Counts without a lock; a reading may be a few events apart in its members.
final class EngineCounters: Sendable {
    private let running = Atomic(0)
    private let total = Atomic(0)
    private let failed = Atomic(0)
    private let sent = Atomic(0)
    private let received = Atomic(0)

    private let made = Atomic(0)

    /// The number of one more exchange.
    func next() -> Int { made.wrappingAdd(1, ordering: .relaxed).newValue }

    func began() {
        running.wrappingAdd(1, ordering: .relaxed)
        total.wrappingAdd(1, ordering: .relaxed)
    }

    func ended(well: Bool, sent: Int64, received: Int64) {
        running.wrappingSubtract(1, ordering: .relaxed)
        if !well { failed.wrappingAdd(1, ordering: .relaxed) }
        moved(sent: sent, received: received)
    }

    /// So many bytes that will not be told again.
    func moved(sent: Int64, received: Int64) {
        self.sent.wrappingAdd(Int(truncatingIfNeeded: sent), ordering: .relaxed)
        self.received.wrappingAdd(Int(truncatingIfNeeded: received), ordering: .relaxed)
    }

    var counts: EngineCounts {
        var counts = EngineCounts()
        counts.running = running.load(ordering: .relaxed)
        counts.total = total.load(ordering: .relaxed)
        counts.failed = failed.load(ordering: .relaxed)
        counts.bytesSent = sent.load(ordering: .relaxed)
        counts.bytesReceived = received.load(ordering: .relaxed)
        return counts
    }
}
