// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import NIOCore
import NIOSSL

/// Receives the events of an upgraded connection. Everything happens on its event loop.
package protocol UpgradedConnectionUser: AnyObject {
    /// Bytes were received, at least one byte.
    func received(_ bytes: ByteBuffer)

    /// All bytes of a read were passed to `received`. Returns whether the next read should follow now; otherwise `read`
    /// resumes reading.
    func wantsMore() -> Bool

    /// The peer has ended its output, but may still read.
    func readEnded()

    /// The connection is gone; no more calls follow. Nil without an error.
    func ended(_ error: (any Error)?)
}

/// A connection that carries bytes both ways: after a 101, or from its beginning for TCP, TLS and Unix streams.
///
/// Bytes are read on demand only, a single read at a time. Each write reports when the kernel has its bytes, and the
/// user paces its writes accordingly. Each direction ends separately.
///
/// The connection holds its user until the end.
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
package final class UpgradedConnection: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let channel: any Channel
    private let place: ConnectionPlace?
    private var user: (any UpgradedConnectionUser)?
    /// Bytes received before `start`.
    private var early = ByteBuffer()
    private var error: (any Error)?
    private var room = ReadBufferSizing()
    private var isReadRequested = false
    private var isReadOver = false
    private var isWriteOver = false
    private var isClosed = false
    /// The next look at the peer; nil while no bytes are under way.
    private var lookout: Scheduled<Void>?
    /// Bytes given to `write` that the kernel has not taken.
    package private(set) var unsentBytes = 0

    /// - Parameter place: returned when the connection ends.
    init(_ channel: any Channel, place: ConnectionPlace?) {
        self.channel = channel
        self.place = place
    }

    /// Adds the connection to the end of the pipeline. Handlers of an earlier protocol must have been removed.
    func install() throws {
        channel.eventLoop.assertInEventLoop()
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        // a channel keeps its last buffer, and many connections are silent
        let room = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 65536)
        try channel.syncOptions?.setOption(.recvAllocator, value: room)
        try channel.pipeline.syncOperations.addHandler(self)
    }

    // MARK: calls from the user

    /// Begins: passes the bytes received so far to the user, and reads on demand.
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

    /// Requests a read from the network. Further calls before its end have no effect.
    package func read() {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed, !isReadOver, !isReadRequested else { return }
        isReadRequested = true
        channel.pipeline.syncOperations.read()
    }

    /// Reads little at once, until the user has kept up for a while.
    package func shortenReads() {
        channel.eventLoop.assertInEventLoop()
        room.reset(channel)
    }

    /// Writes and flushes. `completion` gets whether the kernel took the bytes; after a failure `ended` follows.
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
        lookLater()
    }

    private func lookLater() {
        guard lookout == nil, !isClosed else { return }
        lookout = channel.eventLoop.assumeIsolated().scheduleTask(in: SilentPeer.interval) {
            self.lookout = nil
            if SilentPeer.isGone(self.channel) {
                self.error = self.error ?? IOError(errnoCode: ETIMEDOUT, reason: "the peer acknowledges nothing")
                return self.fail()
            }
            if self.channel.unsentBytes > 0 { self.lookLater() }
        }
    }

    /// Ends the output (FIN; with TLS close_notify before). Earlier writes must have completed. The connection ends
    /// when both directions have ended.
    package func finish() {
        channel.eventLoop.assertInEventLoop()
        guard !isClosed, !isWriteOver else { return }
        isWriteOver = true
        guard !isReadOver else { return channel.close(promise: nil) }
        channel.close(mode: .output, promise: nil)
    }

    /// Ends both directions; the user gets no more calls.
    package func close() {
        channel.eventLoop.assertInEventLoop()
        user = nil
        guard !isClosed else { return }
        over()
        channel.close(promise: nil)
    }

    // MARK: calls from the channel

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        guard bytes.readableBytes > 0, !isClosed else { return }
        room.took(bytes, from: channel)
        if let user { user.received(bytes) } else { early.writeImmutableBuffer(bytes) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReadRequested = false
        guard let user else { return }
        if user.wantsMore() { read() } else { shortenReads() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        guard !isReadOver, !isClosed else { return }
        isReadOver = true
        // NIOSSL reported an end without close_notify just before
        if error != nil { return fail() }
        user?.readEnded()
        if isWriteOver, !isClosed { channel.close(promise: nil) }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // a peer that has finished reading may close without waiting for our close_notify
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
        lookout?.cancel()
        place?.giveBack()
    }
}
