// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Reads what the server chose before TLS sees the bytes, or that it does not speak TLS, and changes nothing. Goes away
/// after the ServerHello.
final class HelloWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let watch: HandshakeWatch
    private var scanner = ServerHelloScanner()
    private var isFirst = true

    init(_ watch: HandshakeWatch) { self.watch = watch }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data).readableBytesView
        if isFirst { watch.plain = PlainPeer(firstBytes: bytes) }
        isFirst = false
        let outcome = scanner.scan(bytes)
        if case .found(let hello) = outcome { watch.hello = hello }
        context.fireChannelRead(data)
        // only now: a context that was removed passes nothing on
        if outcome != .more { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
    }
}
