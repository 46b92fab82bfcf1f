// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Takes the body of an answer as it comes, instead of keeping it.
///
/// The exchange waits for each call: who takes slowly slows the server down, not our memory up. What is thrown ends the
/// exchange as that failure, which is repeated only while nothing was taken.
package protocol BodyOutlet: AnyObject, Sendable {
    /// Whether bytes were taken: they cannot be taken back, so nothing is repeated from then on.
    var hasTaken: Bool { get }

    /// The head is acceptable, and its body follows: of so many bytes, if that is known.
    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure)

    func take(_ chunk: BodyChunk) async throws(HTTPFailure)

    /// The body has arrived whole.
    func finish() async throws(HTTPFailure)

    /// The exchange is over, however it ended; told before anybody else hears of it.
    func over(_ outcome: ExchangeOutcome) async
}

/// Some bytes of a body, where they came to lie.
package struct BodyChunk: Sendable {
    private let buffer: ByteBuffer

    package init(_ buffer: ByteBuffer) { self.buffer = buffer }

    package var count: Int { buffer.readableBytes }

    /// For whoever knows what a buffer is.
    package var storage: any Sendable { buffer }

    package var bytes: [UInt8] { Array(buffer.readableBytesView) }

    package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        buffer.withUnsafeReadableBytes(body)
    }
}
