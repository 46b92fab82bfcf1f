// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A connection that carries raw bytes instead of messages, both ways, after the reply of the call that hijacked the
/// connection. Made by `Peer.hijack`; every member may be called from any task.
///
/// Backpressure applies both ways: the writer waits for the kernel, and the client waits for the reader. At most 256
/// KiB are buffered for each side.
package protocol RawPipe: AnyObject, Sendable {
    /// Writes buffers that are valid during the call; without room, copies of their bytes are queued. False if the client is gone.
    @discardableResult
    func write(_ buffers: [UnsafeRawBufferPointer]) -> Bool

    /// Writes without a copy, if the transport knows the type of `storage`.
    @discardableResult
    func write(_ bytes: some RawBytes) -> Bool

    /// Whether more should be written now.
    var hasRoom: Bool { get }

    /// Whether the client is gone, or the call that hijacked the connection failed.
    var isGone: Bool { get }

    /// Calls back whenever there is room again, and when the client is gone. Must return quickly.
    func whenMoved(_ tell: @escaping @Sendable () -> Void)

    /// The client's next bytes. A single reader at a time.
    func read() async -> RawInput

    /// Discards all further input from the client.
    func ignoreInput()

    /// Ends the output when all written bytes are delivered; reading goes on.
    func endOutput()

    /// Ends the output and closes when all written bytes are delivered.
    func finish()

    /// Closes at once.
    func abort()
}

/// Bytes that pass through without being inspected.
package protocol RawBytes: Sendable {
    /// The underlying buffer, for a transport that knows its type.
    var storage: any Sendable { get }

    func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value
}

package enum RawInput: Sendable, Equatable {
    /// Never empty.
    case bytes([UInt8])
    /// The client has ended its output.
    case end
    /// The client is gone without ending its output, or the task was cancelled.
    case gone
}
