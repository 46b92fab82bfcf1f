// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Connections to proxies that replied 407 to a CONNECT and allow another: the retry with a password need not connect
/// anew. These connections have carried no byte of a request.
// proof: every method runs on `loop` and asserts it; other threads only carry the reference.
final class ProxySpares: @unchecked Sendable {
    /// Limit for all proxies; a further connection replaces the oldest.
    private static let most = 16
    /// How long a connection waits for a password.
    private static let patience = TimeAmount.milliseconds(30_000)

    private final class Spare: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        let key: PoolKey
        let channel: any Channel
        var expiry: Scheduled<Void>?

        init(_ key: PoolKey, _ channel: any Channel) {
            self.key = key
            self.channel = channel
        }

        /// The proxy sent bytes without a request.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { channel.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { channel.close(promise: nil) }
    }

    private let loop: any EventLoop
    private var spares: [Spare] = []

    init(on loop: any EventLoop) { self.loop = loop }

    /// - Parameter key: the key of the tunnel that was refused.
    func keep(_ channel: any Channel, for key: PoolKey) {
        loop.assertInEventLoop()
        let spare = Spare(key.ofProxy, channel)
        guard channel.isActive, (try? channel.pipeline.syncOperations.addHandler(spare)) != nil else {
            return channel.close(promise: nil)
        }
        if spares.count >= Self.most { drop(spares[0]) }
        spares.append(spare)
        spare.expiry = loop.assumeIsolated().scheduleTask(in: Self.patience) { self.drop(spare) }
        // so that the end, or unexpected bytes, are noticed
        channel.read()
        channel.closeFuture.hop(to: loop).assumeIsolated().whenComplete { _ in self.drop(spare) }
    }

    /// Nil if no connection fits.
    func take(for key: PoolKey) -> (any Channel)? {
        loop.assertInEventLoop()
        let key = key.ofProxy
        while let index = spares.lastIndex(where: { $0.key == key }) {
            let spare = spares.remove(at: index)
            spare.expiry?.cancel()
            guard spare.channel.isActive else { continue }
            spare.channel.pipeline.syncOperations.removeHandler(spare, promise: nil)
            return spare.channel
        }
        return nil
    }

    func close() {
        loop.assertInEventLoop()
        for spare in spares { drop(spare) }
    }

    private func drop(_ spare: Spare) {
        guard let index = spares.firstIndex(where: { $0 === spare }) else { return }
        spares.remove(at: index)
        spare.expiry?.cancel()
        spare.channel.close(promise: nil)
    }
}
