// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Synchronization

/// Counters of the whole service since its start.
final class Counters: Sendable {
    let connections = Atomic<Int>(0)
    let callsRunning = Atomic<Int>(0)
    let callsTotal = Atomic<Int>(0)
    let eventsSent = Atomic<Int>(0)
    let eventsDropped = Atomic<Int>(0)
    let bytesReceived = Atomic<Int>(0)
    let bytesSent = Atomic<Int>(0)

    var snapshot: ServerCounters {
        var counters = ServerCounters()
        counters.connections = connections.load(ordering: .relaxed)
        counters.callsRunning = callsRunning.load(ordering: .relaxed)
        counters.callsTotal = callsTotal.load(ordering: .relaxed)
        counters.eventsSent = eventsSent.load(ordering: .relaxed)
        counters.eventsDropped = eventsDropped.load(ordering: .relaxed)
        counters.bytesReceived = bytesReceived.load(ordering: .relaxed)
        counters.bytesSent = bytesSent.load(ordering: .relaxed)
        return counters
    }
}

extension Atomic where Value == Int {
    func count(_ more: Int = 1) { wrappingAdd(more, ordering: .relaxed) }
}
