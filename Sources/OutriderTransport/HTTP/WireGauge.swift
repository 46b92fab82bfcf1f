// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOHTTP1

/// Stands between the parser and the wire: tells the connection when bytes come, also those that do not make a message
/// yet, and lets its own bytes pass as they are.
///
/// The parser must see the head of a request to know what the answer to a HEAD looks like; that part stops here, for the
/// connection writes its heads itself.
final class WireGauge: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    private let came: (ByteBuffer) -> Bool

    /// - Parameter came: false when nobody waits for it: then it is dropped.
    init(came: @escaping (ByteBuffer) -> Bool) { self.came = came }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard came(Self.unwrapInboundIn(data)) else { return }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(.byteBuffer(let bytes)) = Self.unwrapOutboundIn(data) else {
            promise?.succeed()
            return
        }
        context.write(Self.wrapOutboundOut(bytes), promise: promise)
    }
}

extension ByteBuffer {
    /// Whether its last line is empty, as after a head or after the last chunk.
    var endsInEmptyLine: Bool {
        withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            guard rest.popLast() == 0x0A else { return false }
            if rest.last == 0x0D { rest.removeLast() }
            // if nothing stands before it, the line it ends began in an earlier read
            return rest.isEmpty || rest.last == 0x0A
        }
    }

    /// Whether a piece that was cut out of this buffer was cut out at its end.
    ///
    /// Slices share the memory of their buffer, which is how to know. Where the parser has had to put two reads together
    /// they do not, and the bytes decide.
    func ends(with piece: ByteBuffer) -> Bool {
        withUnsafeReadableBytes { whole in
            piece.withUnsafeReadableBytes { part in
                if let end = whole.baseAddress.map({ $0 + whole.count }), let other = part.baseAddress,
                    other + part.count == end
                {
                    return true
                }
                return whole.suffix(64).reversed().starts(with: part.suffix(min(64, whole.count)).reversed())
            }
        }
    }
}
