// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A connection that carries attempts: one after the other over HTTP/1.1, several at once over HTTP/2.
///
/// The pool lends slots of it. A slot ends in `begin`, or in `decline` if there is no request after all. The connection
/// itself tells the pool about free slots and about its own end. Everything happens on its event loop.
protocol AttemptConnection: AnyObject {
    var id: PoolMachine.ConnectionID { get }
    var key: PoolKey { get }
    var facts: ConnectionFacts { get }
    /// Its place in the share of a client, given back when the connection ends.
    var place: ConnectionPlace { get }
    /// The state of the trusted roots under which it was made.
    var generation: Int { get }

    /// Who uses a connection that carries one attempt at a time; for whose request another one was opened.
    var holder: PoolHolder { get }

    /// The pool is about to lend a slot.
    func reserve(for holder: PoolHolder)

    /// Writes the head of a request in the form of the protocol, and a body of at most 64 KiB that need not wait. Nil if the
    /// connection cannot carry a request any more: then the slot is gone, and the attempt asks the pool again.
    ///
    /// - Parameter expects: whether the body waits for 100 Continue.
    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream?

    /// Returns a slot on which nothing has begun. Harmless when repeated.
    func decline()

    /// Ends the connection without a word to its users.
    func close()

    /// Takes no new requests, and ends when those that run have ended. A connection that carries one request at a time
    /// learns this when the pool gets it back.
    func drain()
}

/// What an attempt does with the request that it has begun on a connection.
protocol AttemptStream: AnyObject {
    /// More of the body. The future ends when the kernel has the bytes, with their number on the wire.
    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int>

    /// The kernel has the whole request.
    func requestSent()

    /// The reader has taken so many bytes of the body, so more may come.
    func consumed(_ bytes: Int)

    /// The user wants no more of it, and hears no more.
    func cancel()
}

/// A request that was begun.
struct BegunStream {
    let stream: any AttemptStream
    /// Written so far.
    let bytes: Int
    /// The number of an HTTP/2 stream.
    let number: UInt32?
    /// The connection had carried a request before.
    let isReused: Bool
}

/// What is known of a connection from its opening.
struct ConnectionFacts {
    /// The address at the other end, "127.0.0.1:443" or a socket path.
    var remote: String?
    /// What the handshake with the server settled; nil without TLS.
    var tls: TLSFacts?
    /// No attempt begins on it afterwards: its certificate is over by then, or its policy is to be asked again.
    var until = NIODeadline.distantFuture
    /// The 4 or 16 bytes of its own address; nil for the loopback and for sockets without an address.
    var local: [UInt8]?
}

/// What a connection tells the attempt that it carries. Everything happens on its event loop.
protocol ConnectionUser: AnyObject {
    /// Bytes of a response came, so many.
    func heard(_ bytes: Int)
    func informational(_ head: ResponseHead)
    /// `stopSending`: what is left of the request body must not be sent.
    func responded(_ head: ResponseHead, _ framing: BodyFraming, stopSending: Bool)
    func bodyCame(_ bytes: ByteBuffer)
    /// The response is complete, and the stream is over.
    func completed(trailers: HTTPFields)
    /// The stream is over, and what was expected of it will not come.
    func ended(_ end: ConnectionEnd, _ error: (any Error)?)
    /// Whether an HTTP/1.1 connection should read more from the network now. If not, `consumed` tells when it should.
    func wantsMore() -> Bool
}
