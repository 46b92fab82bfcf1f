// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Logging
import NIOCore
import NIOPosix
import OutriderJSON
import OutriderRPC

/// Accepts clients on a listening Unix socket, and opens a connection for each that may come in.
final class UnixSocketListener: Sendable {
    private let channel: any Channel
    /// Of the channel.
    private let descriptor: Int32
    let file: SocketFile?

    /// Listens on the socket; `file` is nil for sockets passed in by systemd.
    ///
    /// - Parameter process: the only process that may connect, as this user; nil for all whom the host admits.
    static func start(
        _ descriptor: Int32, file: SocketFile?, only process: Int32? = nil, loops: ServiceLoops,
        framing: Framing?, host: any ConnectionHost
    ) async throws -> UnixSocketListener {
        let channel = try await ServerBootstrap(group: loops.first)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ListenerPause())
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: messagesPerRead)
            .childChannelOption(.writeBufferWaterMark, value: waterMark)
            .childChannelInitializer { channel in welcome(channel, process, loops, framing, host) }
            .withBoundSocket(descriptor)
            .get()
        return UnixSocketListener(channel, descriptor, file)
    }

    private init(_ channel: any Channel, _ descriptor: Int32, _ file: SocketFile?) {
        self.channel = channel
        self.descriptor = descriptor
        self.file = file
    }

    /// Accepts no more clients. The socket stays until `remove`, so that no second service starts beside this service.
    func close() async {
        try? await channel.close().get()
    }

    /// Closes once clients that connected before the file went away are accepted: a close would reset them. Waits for
    /// them for a second at most.
    func closeBehindLast() async {
        let end = ContinuousClock.now + .seconds(1)
        while hasWaiting, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(10)) }
        await close()
    }

    /// Accepts no more clients, and turns none away: those to come find the next service, or start it.
    func leave() async {
        // clients wait in the socket of systemd, for this service or the next one
        guard let file else { return await acceptClients(false) }
        file.remove()
        await closeBehindLast()
    }

    func acceptClients(_ on: Bool) async { try? await channel.setOption(.autoRead, value: on).get() }

    /// Whether clients are connected that are not accepted yet.
    private var hasWaiting: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    func remove() { file?.remove() }

    func isListening(on file: SocketFile) -> Bool { self.file === file }

    // MARK: clients

    /// One, so that the end of the input is read by itself, not behind bytes.
    private static let messagesPerRead: UInt = 1
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 64 << 10, high: 256 << 10)

    private static func welcome(
        _ channel: any Channel, _ process: Int32?, _ loops: ServiceLoops, _ framing: Framing?,
        _ host: any ConnectionHost
    ) -> EventLoopFuture<Void> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        let credentials: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.flatMap { peer in
            if let process, peer.pid != process || peer.uid != geteuid() {
                host.logger.notice("process \(peer.pid) may not connect: this service is for process \(process) alone")
                return channel.close()
            }
            guard host.admits(peer.uid) else {
                host.logger.notice("user \(peer.uid) may not connect (--allow-uid permits it)")
                return channel.close()
            }
            // the client finds no service, and starts the next one
            if host.isStopping { return channel.close() }
            let place = loops.enter()
            host.came()
            let leave: @Sendable () -> Void = {
                loops.leave(place.index)
                host.went()
            }
            let isMoved =
                place.loop !== channel.eventLoop
                && move(channel, to: place.loop, { open($0, peer, framing, host) }, leave: leave)
            if isMoved { return channel.close() }
            // on this loop, also if no descriptor is free for a move
            channel.closeFuture.whenComplete { _ in leave() }
            return open(channel, peer, framing, host)
        }
    }

    /// Opens the client's connection on another loop, before the channel of this loop reads anything. False without any
    /// effect if no descriptor is free.
    private static func move(
        _ channel: any Channel, to loop: any EventLoop,
        _ open: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>, leave: @escaping @Sendable () -> Void
    ) -> Bool {
        let copied = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        guard let copied, copied >= 0 else { return false }
        ClientBootstrap(group: loop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: messagesPerRead)
            .channelOption(.writeBufferWaterMark, value: waterMark)
            .channelInitializer(open)
            .withConnectedSocket(copied)
            .flatMap { $0.closeFuture }
            .whenComplete { _ in leave() }
        return true
    }

    private static func open(
        _ channel: any Channel, _ peer: PeerCredentials, _ framing: Framing?, _ host: any ConnectionHost
    ) -> EventLoopFuture<Void> {
        let wire = SocketWire(channel)
        let connection = host.open(
            wire, loop: channel.eventLoop, transport: .socket, pid: Int(peer.pid), uid: Int(peer.uid))
        guard let connection else {
            let error = RPCError(
                .tooMany,
                "too many clients are connected, or the service is stopping (try again later, or raise --max-clients)",
                data: ["what": .string("connections")])
            let line = ByteBuffer(bytes: Outgoing.error(nil, error).frame(.line).bytes)
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(RefusalHandler(line))
            }
        }
        return channel.eventLoop.makeCompletedFuture {
            let feed = FrameFeed(connection, framing: framing)
            try channel.pipeline.syncOperations.addHandler(SocketChannelHandler(connection, wire, feed))
        }
    }
}

/// Pauses the listener while no descriptor is free, and retries every 100 ms.
///
/// Without the pause the socket stays readable, and the loop accepts in vain as fast as possible.
private final class ListenerPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(100)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            return context.fireErrorCaught(error)
        }
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        channel.eventLoop.scheduleTask(in: Self.pause) { try? channel.syncOptions?.setOption(.autoRead, value: true) }
    }
}

/// Sends a refusal as soon as the channel is active, then closes.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let line: ByteBuffer

    init(_ line: ByteBuffer) { self.line = line }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        context.writeAndFlush(Self.wrapOutboundOut(line)).whenComplete { _ in channel.close(promise: nil) }
    }

    /// The client's input is ignored.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
