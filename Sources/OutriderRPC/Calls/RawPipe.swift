// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A connection that carries bytes of somebody's own instead of messages, both ways, from behind the reply of the call that
/// seized it. Made by `Peer.seize`; every member may be called from any task.
///
/// What does not fit into the kernel holds the writer up, and what is not read holds the client up: neither side is
/// buffered beyond a quarter of a MiB.
package protocol RawPipe: AnyObject, Sendable {
    /// Copies the bytes to the client. Without room they wait. False if nobody is there to read them.
    @discardableResult
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// The same without a copy, where both ends of the house know what the bytes are made of.
    @discardableResult
    func write(_ bytes: some RawBytes) -> Bool

    /// Whether more should be written now.
    var hasRoom: Bool { get }

    /// Whether the client is gone, or the call that seized the connection failed.
    var isGone: Bool { get }

    /// Calls back whenever there is room again, and when the client is gone. Must return quickly.
    func whenMoved(_ tell: @escaping @Sendable () -> Void)

    /// What the client sends next. One caller at a time.
    func read() async -> RawInput

    /// What the client sends from now on is not wanted, and forgotten.
    func ignoreInput()

    /// Says that nothing more will come, when all that was written is delivered, and goes on reading.
    func endOutput()

    /// Says that nothing more will come, and closes when all that was written is delivered.
    func finish()

    /// Closes at once.
    func abort()
}

/// Bytes that pass through the hall, which does not look at them.
package protocol RawBytes: Sendable {
    /// What they are made of, for whoever knows that.
    var storage: any Sendable { get }

    func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value
}

package enum RawInput: Sendable, Equatable {
    /// Never none.
    case bytes([UInt8])
    /// The client has said all it will say.
    case end
    /// The client is gone without having said so, or the task was cancelled.
    case gone
}
