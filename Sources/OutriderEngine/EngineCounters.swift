// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// Requests and bytes since the start of the service.
package struct EngineCounts: Sendable, Equatable {
    package var running = 0
    package var total = 0
    /// Ended with a failure, including cancellation.
    package var failed = 0
    package var bytesSent = 0
    package var bytesReceived = 0
    /// Requests that have not ended, by state; states without requests are missing.
    package var states: [RequestPhase: Int] = [:]
}

/// Counts without a lock; the members of a reading may differ by a few events.
final class EngineCounters: Sendable {
    /// After so many ends of exchanges their count is told.
    private static let step = 64

    private let running = Atomic(0)
    private let total = Atomic(0)
    private let failed = Atomic(0)
    private let sent = Atomic(0)
    private let received = Atomic(0)

    private let made = Atomic(0)
    private let gone = Atomic(0)
    // a counter per phase that is not final
    private let created = Atomic(0)
    private let resumed = Atomic(0)
    private let adapted = Atomic(0)
    private let sending = Atomic(0)
    private let responded = Atomic(0)
    private let suspended = Atomic(0)
    private let retrying = Atomic(0)

    /// The number of a new exchange.
    func next() -> Int {
        created.wrappingAdd(1, ordering: .relaxed)
        return made.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// An exchange, in its last phase, is no longer needed. Now and then returns how many there are.
    func left(_ phase: RequestPhase) -> Int? {
        moved(from: phase, to: .finished)
        let gone = gone.wrappingAdd(1, ordering: .relaxed).newValue
        return gone % Self.step == 0 ? made.load(ordering: .relaxed) &- gone : nil
    }

    func moved(from old: RequestPhase, to new: RequestPhase) {
        if old == new { return }
        add(1, to: new)
        add(-1, to: old)
    }

    private func add(_ count: Int, to phase: RequestPhase) {
        switch phase {
        case .created: created.wrappingAdd(count, ordering: .relaxed)
        case .resumed: resumed.wrappingAdd(count, ordering: .relaxed)
        case .adapted: adapted.wrappingAdd(count, ordering: .relaxed)
        case .sent: sending.wrappingAdd(count, ordering: .relaxed)
        case .responded: responded.wrappingAdd(count, ordering: .relaxed)
        case .suspended: suspended.wrappingAdd(count, ordering: .relaxed)
        case .retrying: retrying.wrappingAdd(count, ordering: .relaxed)
        case .cancelled, .finished: return
        }
    }

    private var states: [RequestPhase: Int] {
        let all: [(RequestPhase, Int)] = [
            (.created, created.load(ordering: .relaxed)), (.resumed, resumed.load(ordering: .relaxed)),
            (.adapted, adapted.load(ordering: .relaxed)), (.sent, sending.load(ordering: .relaxed)),
            (.responded, responded.load(ordering: .relaxed)), (.suspended, suspended.load(ordering: .relaxed)),
            (.retrying, retrying.load(ordering: .relaxed)),
        ]
        return Dictionary(uniqueKeysWithValues: all.filter { $0.1 > 0 })
    }

    func began() {
        running.wrappingAdd(1, ordering: .relaxed)
        total.wrappingAdd(1, ordering: .relaxed)
    }

    func ended(well: Bool, sent: Int64, received: Int64) {
        running.wrappingSubtract(1, ordering: .relaxed)
        if !well { failed.wrappingAdd(1, ordering: .relaxed) }
        moved(sent: sent, received: received)
    }

    /// Adds bytes that no outcome reports later.
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
        counts.states = states
        return counts
    }
}
