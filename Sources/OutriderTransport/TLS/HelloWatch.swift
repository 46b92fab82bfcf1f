// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Reads what the server chose before TLS sees the bytes, and changes nothing. Goes away after the ServerHello.
final class HelloWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let watch: HandshakeWatch
    private var scanner = ServerHelloScanner()

    init(_ watch: HandshakeWatch) { self.watch = watch }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let outcome = scanner.scan(Self.unwrapInboundIn(data).readableBytesView)
        if case .found(let hello) = outcome { watch.hello = hello }
        context.fireChannelRead(data)
        // only now: a context that was removed passes nothing on
        if outcome != .more { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
    }
}
