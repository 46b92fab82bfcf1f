// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Takes the body of a response piece by piece, in place of keeping the whole.
///
/// The exchange waits for each call, so a slow outlet slows the server down and takes no memory. A thrown failure ends
/// the exchange; the request is retried only while no bytes were taken.
package protocol BodyOutlet: AnyObject, Sendable {
    /// Whether bytes were taken: taken bytes cannot be recalled, so no retry follows.
    var hasTaken: Bool { get }

    /// The head is acceptable, and its body follows, of this length if known.
    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure)

    func take(_ chunk: BodyChunk) async throws(HTTPFailure)

    /// The body has arrived completely.
    func finish() async throws(HTTPFailure)

    /// The exchange has ended, successfully or not; called before any other notification of the end.
    func over(_ outcome: ExchangeOutcome) async

    /// The client cancels an exchange that has ended, and may still wait in `over`.
    func renounce(_ failure: HTTPFailure)
}

/// Bytes of a body, without a copy.
package struct BodyChunk: Sendable {
    private let buffer: ByteBuffer

    package init(_ buffer: ByteBuffer) { self.buffer = buffer }

    package var count: Int { buffer.readableBytes }

    /// The buffer, for code that can cast to its type.
    package var storage: any Sendable { buffer }

    package var bytes: [UInt8] { Array(buffer.readableBytesView) }

    package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        buffer.withUnsafeReadableBytes(body)
    }
}
