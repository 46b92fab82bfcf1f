// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The memory for the large payloads of a client: a share of a budget of the service. Messages up to `LongBody.counted` bytes
/// are not counted.
package protocol PayloadMemory: AnyObject, Sendable {
    /// Memory for a message; nil if there is no room now.
    func take(_ bytes: Int) -> (any PayloadCharge)?

    /// Calls `tell` once there is memory for a message: perhaps at once, perhaps from another thread. Returns the
    /// number that ends the wait.
    func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64

    func cancelWait(_ id: UInt64)

    /// Memory for bytes that could go to a file; nil if they must.
    func hold(_ bytes: Int) -> (any PayloadCharge)?

    /// Moves bytes to a private file, and calls `done` from another thread; with nil if that fails.
    func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void)

    /// A message was refused for lack of memory.
    func countRefusal()
}

/// Memory that is taken, until `release` or the last reference goes.
package protocol PayloadCharge: AnyObject, Sendable {
    /// Whether the message exceeds the budget, as one message of the service may: nothing that lasts may keep it.
    var isBeyond: Bool { get }

    var bytes: Int { get }

    /// False if there is no room for so many more bytes.
    func grow(by more: Int) -> Bool

    /// Adds another charge of the same client, which ends.
    func take(over other: any PayloadCharge)

    /// Lets another message exceed the budget in place of this message, whose bytes stay counted.
    func giveWay()

    /// Repeated calls have no effect.
    func release()
}

/// Bytes in a private file.
package protocol SpilledPayload: AnyObject, Sendable {
    /// Reads on another thread; nil if the file cannot be read.
    func read(at offset: Int, count: Int, _ done: @escaping @Sendable ([UInt8]?) -> Void)
}
