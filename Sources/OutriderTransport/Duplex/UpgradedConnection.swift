// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
import NIOSSL
import OutriderHTTP

/// What an upgraded connection tells the code that reads and writes it. Everything happens on its event loop.
package protocol UpgradedConnectionUser: AnyObject {
    /// Bytes came, at least one.
    func received(_ bytes: ByteBuffer)

    /// Everything that one read brought was given to `received`: whether the next read should follow now. Otherwise `read`
    /// asks for it later.
    func wantsMore() -> Bool

    /// The peer sends no more bytes; it may still read.
    func readEnded()

    /// The connection is gone, and nothing follows. Nil if nothing went wrong.
    func ended(_ error: (any Error)?)
}

/// A connection that carries bytes both ways: after a 101, or from its beginning for TCP, TLS and Unix streams.
///
/// Bytes are read on demand only, one read at a time. Each write tells when the kernel has its bytes, and the user paces
/// itself by that. Each direction ends by itself.
///
/// The connection holds its user until it ends.
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
package final class UpgradedConnection: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let channel: any Channel
    private let place: ConnectionPlace?
    private var user: (any UpgradedConnectionUser)?
    /// Bytes that came before there was a user.
    private var early = ByteBuffer()
    private var error: (any Error)?
    private var room = ReadRoom()
    private var isReadAsked = false
    private var isReadOver = false
    private var isWriteOver = false
    private var isClosed = false
    /// Bytes given to `write` that the kernel has not taken.
    package private(set) var unsentBytes = 0

    /// - Parameter place: given back when the connection ends.
    init(_ channel: any Channel, place: ConnectionPlace?) {
        self.channel = channel
        self.place = place
    }

    /// Puts the connection behind everything that the channel has. What followed the channel until now must be removed.
    func install() throws {
        channel.eventLoop.assertInEventLoop()
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try channel.pipeline.syncOperations.addHandler(self)
    }

    // MARK: what the user wants

    /// Begins: gives the user the bytes that are there already, and reads if the user wants more.
    package func start(_ user: any UpgradedConnectionUser) {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed else { return user.ended(error) }
        self.user = user
        let bytes = early
        early = ByteBuffer()
        if bytes.readableBytes > 0 { user.received(bytes) }
        if isReadOver { return user.readEnded() }
        if user.wantsMore() { read() }
    }

    /// Asks for one read from the network. Asking again before the read has ended changes nothing.
    package func read() {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed, !isReadOver, !isReadAsked else { return }
        isReadAsked = true
        channel.pipeline.syncOperations.read()
    }

    /// Writes and flushes. `completion` hears whether the kernel took the bytes; without success `ended` follows.
    package func write(_ bytes: ByteBuffer, _ completion: ((Bool) -> Void)? = nil) {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed, !isWriteOver else {
            completion?(false)
            return
        }
        let count = bytes.readableBytes
        unsentBytes += count
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in
            self.unsentBytes -= count
            if case .success = result { completion?(true) } else { completion?(false) }
        }
        channel.pipeline.syncOperations.writeAndFlush(NIOAny(bytes), promise: promise)
    }

    /// Says that no more bytes follow (FIN; with TLS close_notify before it). Earlier writes must have completed. Where both
    /// directions have ended, so has the connection.
    package func finish() {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed, !isWriteOver else { return }
        isWriteOver = true
        guard !isReadOver else { return channel.close(promise: nil) }
        channel.close(mode: .output, promise: nil)
    }

    /// Ends both directions; the user hears nothing more.
    package func close() {
        channel.eventLoop.assertInEventLoop()
        user = nil
        guard !isClosed else { return }
        over()
        channel.close(promise: nil)
    }

    // MARK: what the channel says

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        guard bytes.readableBytes > 0, !isClosed else { return }
        room.took(bytes.readableBytes, from: channel)
        if let user { user.received(bytes) } else { early.writeImmutableBuffer(bytes) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReadAsked = false
        if user?.wantsMore() ?? false { read() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        guard !isReadOver, !isClosed else { return }
        isReadOver = true
        // what TLS says about an end without close_notify came just before
        if error != nil { return fail() }
        user?.readEnded()
        if isWriteOver, !isClosed { channel.close(promise: nil) }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // a peer that has read all it wants may not wait for our close_notify
        if isReadOver, isWriteOver { return }
        self.error = self.error ?? error
        if case NIOSSLError.uncleanShutdown = error { return }
        fail()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        context.fireChannelInactive()
        fail()
    }

    private func fail() {
        guard !isClosed else { return }
        let user = user
        close()
        user?.ended(error)
    }

    private func over() {
        isClosed = true
        place?.giveBack()
    }
}
