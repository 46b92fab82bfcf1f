// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine

/// The memory of what waits on a WebSocket, beyond 64 KiB in each direction: received messages, and short messages that
/// are to be sent. Long messages that are to be sent are counted as messages of their client.
///
/// The charges in results are over; they must not go within a lock.
struct WebSocketMemory: Sendable {
    private var incoming: WaitingMemory
    private var outgoing: WaitingMemory
    /// The bytes for which there was memory when more was received; nil once no more than that waits.
    private var granted: Int?

    /// More was received than there is memory for: nothing more is read until the client takes messages.
    var isFull: Bool { granted != nil }

    init(_ quota: BodyQuota) {
        incoming = WaitingMemory(quota, free: MemoryBudget.counted)
        outgoing = WaitingMemory(quota, free: MemoryBudget.counted)
    }

    /// So many bytes wait for the client: they are there already, and are counted also beyond the budget.
    mutating func wait(_ bytes: Int) -> [MemoryCharge] {
        let room = incoming.room(for: bytes)
        if room < bytes { granted = min(granted ?? room, room) }
        if let granted, bytes <= granted { self.granted = nil }
        return incoming.fit(bytes)
    }

    /// Whether so many bytes may wait to be sent.
    mutating func maySend(_ bytes: Int) -> Bool { outgoing.room(for: bytes) >= bytes }

    /// So many bytes wait to be sent.
    mutating func sent(_ bytes: Int) -> [MemoryCharge] { outgoing.fit(bytes) }

    /// The memory of received messages, for the streams that hold them from now on.
    mutating func takeIncoming() -> [MemoryCharge] { incoming.takeAll() }
}
