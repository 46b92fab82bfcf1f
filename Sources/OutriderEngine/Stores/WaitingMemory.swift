// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The memory of what waits in a queue, as events do until a client fetches them; counted as memory of requests.
///
/// Counted in steps, and the first bytes not at all: an ordinary queue costs nothing.
package struct WaitingMemory: Sendable {
    private static let step = 16 << 10

    private let quota: BodyQuota
    private let free: Int
    private var charges: [MemoryCharge] = []

    /// - Parameter free: the bytes that are not counted.
    package init(_ quota: BodyQuota, free: Int = MemoryBudget.countedRequest) {
        self.quota = quota
        self.free = free
    }

    /// The bytes that may be held by now.
    private var held: Int { free &+ charges.count &* Self.step }

    /// How many bytes may be held: all that are wanted, or as many as the budget has room for.
    package mutating func room(for bytes: Int) -> Int {
        while held < bytes, let charge = quota.request(Self.step) { charges.append(charge) }
        return held
    }

    /// Counts the bytes that are held, also beyond the budget. The charges that are returned are over: they end with
    /// their last reference, which must not go within a lock.
    package mutating func fit(_ bytes: Int) -> [MemoryCharge] {
        while held < bytes { charges.append(quota.requestAnyway(Self.step)) }
        var surplus: [MemoryCharge] = []
        while held &- Self.step >= bytes, let charge = charges.popLast() { surplus.append(charge) }
        return surplus
    }

    /// All charges, for what holds the bytes from now on.
    package mutating func takeAll() -> [MemoryCharge] {
        defer { charges = [] }
        return charges
    }
}
