// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOHTTP1

/// The far side of a connection's parser: tells it what was asked for, and hands back what it found.
final class AnswerParts: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private unowned let connection: HTTP1Connection
    private var context: ChannelHandlerContext?

    private init(_ connection: HTTP1Connection) { self.connection = connection }

    /// Puts a parser, and this behind it, at the end of the pipeline.
    static func install(behind connection: HTTP1Connection, in pipeline: ChannelPipeline) throws -> AnswerParts {
        let decoder = HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
            limitConfiguration: HTTP1Limits.decoder)
        let parts = AnswerParts(connection)
        try pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
        try pipeline.syncOperations.addHandler(parts)
        return parts
    }

    func expectAnswer(to method: String) {
        let head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: "")
        context?.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.parsed(Self.unwrapInboundIn(data)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.failed(error) }
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

    /// Whether a status line may begin here, as far as can be seen. Line ends that were left over may stand before it.
    var beginsLikeAnswer: Bool {
        withUnsafeReadableBytes { bytes in
            guard let first = bytes.first, first != 0x0D, first != 0x0A else { return true }
            return bytes.prefix(5).elementsEqual("HTTP/".utf8.prefix(bytes.count))
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
