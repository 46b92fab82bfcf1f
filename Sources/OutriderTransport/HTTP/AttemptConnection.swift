// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A connection that carries attempts: one after the other over HTTP/1.1, several at once over HTTP/2.
///
/// The pool lends slots of a connection. A slot ends in `begin`, or in `decline` if there is no request after all. The
/// connection itself tells the pool about free slots and about its own end. Everything happens on its event loop.
protocol AttemptConnection: AnyObject {
    var id: PoolMachine.ConnectionID { get }
    var key: PoolKey { get }
    var facts: ConnectionFacts { get }
    /// Its place in the share of a client, returned when the connection ends.
    var place: ConnectionPlace { get }
    /// The generation of trusted roots at the time of the handshake.
    var generation: Int { get }

    /// The user of a connection that carries one attempt at a time; for shared connections, the user whose request
    /// opened them.
    var holder: PoolHolder { get }

    /// The time of the pool's clock from which the connection must not lie idle; infinite if its server names none.
    var idleUntil: Double { get }

    /// Whether the server allows no attempts at present.
    var refusesForNow: Bool { get }
    /// Whether the server ends the connection after other attempts.
    var endsAfterOthers: Bool { get }

    /// The pool is about to lend a slot.
    func reserve(for holder: PoolHolder)

    /// Writes the head of a request in the form of the protocol, and a body of at most 64 KiB that need not wait. Nil
    /// if the connection cannot carry a request any more: then the slot is gone, and the attempt must ask the pool
    /// again.
    ///
    /// - Parameter expects: whether the body waits for 100 Continue.
    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream?

    /// Returns an unused slot. Repeating the call has no effect.
    func decline()

    /// Ends the connection without notifying its users.
    func close()

    /// Takes no new requests, and ends after the running requests. A connection that carries one request at a time is
    /// closed when the pool gets the connection back.
    func drain()
}

extension AttemptConnection {
    var idleUntil: Double { .infinity }
    var refusesForNow: Bool { false }
    var endsAfterOthers: Bool { false }
}

extension AttemptStream {
    var unsent: Int { 0 }
    func pauseBody(_ isPaused: Bool) {}
}

/// An attempt's request on a connection.
protocol AttemptStream: AnyObject {
    /// Sends more of the body. The future completes when the kernel has the bytes, with their number on the wire.
    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int>

    /// Bytes of the body that were passed to `send`, and that the server has not received.
    var unsent: Int { get }

    /// The kernel has the whole request.
    func requestSent()

    /// Keeps back, or sends, the bytes of the body that were passed to `send` and still wait.
    func pauseBody(_ isPaused: Bool)

    /// The reader has consumed this many bytes of the body, so more may come.
    func consumed(_ bytes: Int)

    /// Cancels the stream; its user gets no further calls.
    func cancel()
}

/// A request in progress.
struct BegunStream {
    let stream: any AttemptStream
    /// Bytes written so far.
    let bytes: Int
    /// The number of an HTTP/2 stream.
    let number: UInt32?
    /// Whether the connection has carried a request before.
    let isReused: Bool
}

/// Receives the events of a connection for the attempt on it. Everything happens on the connection's event loop.
protocol ConnectionUser: AnyObject {
    /// Bytes of a response were received.
    func received(_ bytes: Int)
    func informational(_ head: ResponseHead)
    /// `stopSending`: the server has refused the request, and the rest of the body need not be sent.
    func responded(_ head: ResponseHead, _ framing: BodyFraming, stopSending: Bool)
    func bodyCame(_ bytes: ByteBuffer)
    /// The response is complete, and the stream is over.
    func completed(trailers: HTTPFields)
    /// The stream ended before the response was complete.
    func ended(_ end: ConnectionEnd, _ error: (any Error)?)
    /// Whether an HTTP/1.1 connection should continue reading from the network. If not, `consumed` resumes reading.
    func wantsMore() -> Bool
}
