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

    /// What one read from the network brought.
    struct Arrival {
        var bytes = 0
        /// Where in memory it ends: a body that ends elsewhere is followed by something.
        var end: UInt = 0
        /// Whether its last line is empty, as after a head or after the last chunk.
        var endsInEmptyLine = false

        init() {}

        init(_ buffer: ByteBuffer) {
            bytes = buffer.readableBytes
            end = WireGauge.end(of: buffer)
            endsInEmptyLine = buffer.withUnsafeReadableBytes { bytes in
                var rest = bytes[...]
                guard rest.popLast() == 0x0A else { return false }
                if rest.last == 0x0D { rest.removeLast() }
                return rest.last == 0x0A
            }
        }
    }

    private let came: (Arrival) -> Bool

    /// - Parameter came: false when nobody waits for it: then it is dropped.
    init(came: @escaping (Arrival) -> Bool) { self.came = came }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard came(Arrival(Self.unwrapInboundIn(data))) else { return }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(.byteBuffer(let bytes)) = Self.unwrapOutboundIn(data) else {
            promise?.succeed()
            return
        }
        context.write(Self.wrapOutboundOut(bytes), promise: promise)
    }

    /// The address behind the last byte; slices of one buffer share its memory.
    static func end(of buffer: ByteBuffer) -> UInt {
        buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) &+ UInt(bitPattern: $0.count) }
    }
}
