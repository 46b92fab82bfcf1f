// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import Synchronization

/// A client on a socket, over its channel.
final class SocketWire: Wire {
    /// The kernel takes 1,024 (`UIO_MAXIOV`).
    private static let mostParts = 64

    private let channel: any Channel
    private let inputClosed = Atomic<Bool>(false)
    private let finishing = Atomic<Bool>(false)
    private let expectsMuch = Atomic<Bool>(false)
    /// Whether the channel got bytes that may still wait there.
    private let mayWait = Atomic<Bool>(false)
    /// Used while the channel is active; nil if the channel has no socket. Asking for the socket takes long.
    private let socket: CInt?

    /// On the loop of the channel.
    init(_ channel: any Channel) {
        self.channel = channel
        socket = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable { (socket: CInt) in socket }
    }

    var isSocket: Bool { true }
    var isWritable: Bool { channel.isWritable }

    var unwritten: Int { (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Gives the bytes to the kernel at once if it takes them: the way through the channel is long.
    func write(_ buffer: ByteBuffer) {
        var rest = buffer
        if let socket = freeSocket {
            let taken = rest.withUnsafeReadableBytes { send(socket, $0.baseAddress, $0.count, Self.flags) }
            rest.moveReaderIndex(forwardBy: max(0, taken))
        }
        guard rest.readableBytes > 0 else { return }
        mayWait.store(true, ordering: .relaxed)
        channel.write(rest, promise: nil)
    }

    private static let flags = Int32(truncatingIfNeeded: MSG_DONTWAIT | MSG_NOSIGNAL)

    /// The socket, if no earlier bytes wait in the channel. A failure of the socket is left to the channel, which meets
    /// the same and closes.
    private var freeSocket: CInt? {
        guard let socket, channel.isActive else { return nil }
        if mayWait.load(ordering: .relaxed) {
            guard unwritten == 0 else { return nil }
            mayWait.store(false, ordering: .relaxed)
        }
        return socket
    }

    func giveToKernel(_ buffers: [UnsafeRawBufferPointer]) -> Int {
        guard let socket = freeSocket else { return 0 }
        var parts = buffers.prefix(Self.mostParts).map { buffer in
            iovec(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
        }
        return parts.withUnsafeMutableBufferPointer { parts in
            var message = msghdr()
            message.msg_iov = parts.baseAddress
            message.msg_iovlen = parts.count
            return max(0, sendmsg(socket, &message, Self.flags))
        }
    }

    func flush() { if mayWait.load(ordering: .relaxed) { channel.flush() } }

    func setReading(_ on: Bool) { _ = channel.setOption(.autoRead, value: on) }

    /// Requests 1 MiB; the system may allow less.
    func expectMuch() {
        guard !expectsMuch.exchange(true, ordering: .relaxed) else { return }
        _ = channel.setOption(.socketOption(.so_sndbuf), value: 1 << 20)
    }

    /// Ends the output, and leaves the client half a second to close: closing a socket with unread input could discard
    /// the last reply.
    func finish() {
        guard !finishing.exchange(true, ordering: .relaxed) else { return }
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in
            if self.inputClosed.load(ordering: .relaxed) { return self.abort() }
            self.channel.close(mode: .output, promise: nil)
            self.channel.eventLoop.scheduleTask(in: .milliseconds(500)) { self.abort() }
        }
    }

    func endOutput() {
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in self.channel.close(mode: .output, promise: nil) }
    }

    func abort() { channel.close(promise: nil) }

    func peerClosedInput() {
        inputClosed.store(true, ordering: .relaxed)
        if finishing.load(ordering: .relaxed) { channel.writeAndFlush(ByteBuffer()).whenComplete { _ in self.abort() } }
    }
}

/// Passes the events of a channel to the feed and the connection.
final class SocketChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Connection
    private let wire: SocketWire
    private let feed: FrameFeed
    private var inTick = false

    init(_ connection: Connection, _ wire: SocketWire, _ feed: FrameFeed) {
        self.connection = connection
        self.wire = wire
        self.feed = feed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !inTick {
            inTick = true
            connection.expectFlush()
        }
        feed.received(Self.unwrapInboundIn(data))
    }

    /// At the end of the input there is nothing to flush, and a flush must not be: if it fails, the channel closes here,
    /// and NIO, which is about to close the input, stops the process in a debug build.
    func channelReadComplete(context: ChannelHandlerContext) {
        guard inTick else { return }
        inTick = false
        connection.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection.flush() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            wire.peerClosedInput()
            feed.inputEnded()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) { connection.gone() }

    /// A reset is followed by channelInactive, which reports the end.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
