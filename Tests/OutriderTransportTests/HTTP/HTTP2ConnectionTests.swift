// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOEmbedded
import OutriderHTTP
import Testing

@testable import OutriderTransport

/// One connection of HTTP/2, frame by frame, on a channel of memory.
struct HTTP2ConnectionTests {
    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    /// No stream was processed.
    private static let goAway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0] + Array(repeating: 0, count: 8)

    @Test func `what came before a reset counts, though a write fails`() throws {
        let channel = EmbeddedChannel()
        let pool = ConnectionPool(on: channel.embeddedEventLoop, config: .init(), mostConnections: 8)
        let waiter = SharedBorrower()
        _ = pool.ask(waiter)
        var place: ConnectionPlace?
        _ = pool.place(for: .service) { place = try? $0.get() }
        let connection = HTTP2Connection(
            id: pool.makeID(), key: waiter.key, channel: channel, facts: ConnectionFacts(), generation: 0,
            place: try #require(place), holder: waiter.holder, pool: pool)
        let socket = ResetSocket()
        try channel.pipeline.syncOperations.addHandler(socket)
        try connection.install()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        pool.opened(connection, capacity: connection.capacity)
        let user = HeardResponse()
        _ = try #require(try connection.begin(.local(1, method: "POST"), expects: false, for: user))
        // the acknowledgement of SETTINGS cannot be written any more
        socket.left = ByteBuffer(bytes: Self.goAway)
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: Self.settings))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
        #expect(user.end == .unprocessed)
        #expect(!channel.isActive)
    }
}

/// Stands for an attempt that wants a connection of HTTP/2.
private final class SharedBorrower: PoolWaiter {
    let key = PoolKey.of(.local(1), version: .http2).0
    let connectionsPerHost = 8
    let holder = PoolHolder()

    func carry(on connection: any AttemptConnection) {}
    func openConnection() {}
    func refused(_ failure: HTTPFailure) { Issue.record("\(failure)") }
}

/// A socket whose other end has reset the connection: no write succeeds, and as with SwiftNIO's sockets what is left is
/// read then if a read is pending.
private final class ResetSocket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var left: ByteBuffer?
    private var isReading = false

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = false
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let left else { return context.write(data, promise: promise) }
        self.left = nil
        if isReading {
            context.fireChannelRead(NIOAny(left))
            context.fireChannelReadComplete()
        }
        promise?.fail(ChannelError.ioOnClosedChannel)
        context.close(promise: nil)
    }
}
