// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Runs a `TunnelMachine` over a channel to a proxy. Has no deadline of its own.
// proof: confined to the event loop of its channel; other threads only carry the reference.
final class ProxyHandshake: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Outcome {
        /// From here on the channel leads to the origin.
        case open
        /// `isReusable`: another request to the proxy may follow on the same channel.
        case refused(ResponseHead, isReusable: Bool)
        case failed(HTTPFailure)
    }

    private let proxy: ProxyServer
    private let origin: HTTPURL
    private var machine: any TunnelMachine
    private var completion: ((Outcome) -> Void)?

    init(_ machine: any TunnelMachine, with proxy: ProxyServer, to origin: HTTPURL) {
        self.machine = machine
        self.proxy = proxy
        self.origin = origin
    }

    /// Calls back once, on the loop, unless the caller closes the channel before; the handler has then left the
    /// channel.
    func start(on channel: any Channel, _ completion: @escaping (Outcome) -> Void) {
        channel.eventLoop.assertInEventLoop()
        self.completion = completion
        do {
            try channel.pipeline.syncOperations.addHandler(self)
        } catch {
            return finish(.failed(FailureBridge.exchange(error, with: proxy.name, phase: .proxy)))
        }
        channel.writeAndFlush(ByteBuffer(bytes: machine.begin()), promise: nil)
        channel.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard completion != nil else { return context.fireChannelRead(data) }
        switch machine.received(Array(Self.unwrapInboundIn(data).readableBytesView)) {
        case .wait: break
        case .send(let bytes):
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        case .open: opened(context)
        case .refused(let head, let isReusable): leave(context, .refused(head, isReusable: isReusable))
        case .failed(let kind, let what):
            let text = "the proxy \(proxy.name) \(what)"
            let failure = HTTPFailure(
                kind, text, phase: .proxy, retryable: machine.mayPass ? true : nil, details: [.proxy(proxy.name)])
            leave(context, .failed(failure))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if completion != nil { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        broke(FailureBridge.exchange(error, with: proxy.name, phase: .proxy))
    }

    func channelInactive(context: ChannelHandlerContext) {
        let text = "\(proxy.name) closed the connection when asked for a way to \(origin.authorityWithPort)"
        broke(HTTPFailure(.connectionLost, text, phase: .proxy))
        context.fireChannelInactive()
    }

    private func opened(_ context: ChannelHandlerContext) {
        let early = machine.early
        guard !early.isEmpty else { return leave(context, .open) }
        // the next handler must be there to get them
        finish(.open)
        context.fireChannelRead(NIOAny(ByteBuffer(bytes: early)))
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// A refusal counts, even if its body did not arrive.
    private func broke(_ failure: HTTPFailure) {
        guard let head = machine.cutRefusal else { return finish(.failed(failure)) }
        finish(.refused(head, isReusable: false))
    }

    private func leave(_ context: ChannelHandlerContext, _ outcome: Outcome) {
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        finish(outcome)
    }

    private func finish(_ outcome: Outcome) {
        let completion = completion
        self.completion = nil
        completion?(outcome)
    }
}
