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
    /// More was received than there is memory for: nothing more is read until the client takes messages.
    private(set) var isFull = false

    init(_ quota: BodyQuota) {
        incoming = WaitingMemory(quota, free: MemoryBudget.counted)
        outgoing = WaitingMemory(quota, free: MemoryBudget.counted)
    }

    /// So many bytes wait for the client: they are there already, and are counted also beyond the budget.
    mutating func wait(_ bytes: Int) -> [MemoryCharge] {
        isFull = incoming.room(for: bytes) < bytes
        return incoming.fit(bytes)
    }

    /// Whether so many bytes may wait to be sent.
    mutating func maySend(_ bytes: Int) -> Bool { outgoing.room(for: bytes) >= bytes }

    /// So many bytes wait to be sent.
    mutating func sent(_ bytes: Int) -> [MemoryCharge] { outgoing.fit(bytes) }

    /// The memory of received messages, for the streams that hold them from now on.
    mutating func takeIncoming() -> [MemoryCharge] { incoming.takeAll() }
}
