// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOHTTP1

/// The handler behind a connection's parser: tells the parser the request's method, and returns the parsed parts to the
/// connection.
final class ResponseParts: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private unowned let connection: HTTP1Connection
    private var context: ChannelHandlerContext?

    private init(_ connection: HTTP1Connection) { self.connection = connection }

    /// Adds a parser, followed by this handler, to the end of the pipeline.
    static func install(behind connection: HTTP1Connection, in pipeline: ChannelPipeline) throws -> ResponseParts {
        let decoder = HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
            limitConfiguration: HTTP1Limits.decoder)
        let parts = ResponseParts(connection)
        try pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
        try pipeline.syncOperations.addHandler(parts)
        return parts
    }

    func expectResponse(to method: String) {
        let head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: "")
        context?.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.parsed(Self.unwrapInboundIn(data)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.failed(error) }
}

extension ByteBuffer {
    /// Whether the last line is empty, as after a head or after the last chunk.
    var endsInEmptyLine: Bool {
        withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            guard rest.popLast() == 0x0A else { return false }
            if rest.last == 0x0D { rest.removeLast() }
            // if the buffer has nothing else, the line began in an earlier read
            return rest.isEmpty || rest.last == 0x0A
        }
    }

    /// Whether the buffer may begin with a status line, as far as its bytes tell. Line ends left over from before may
    /// come first.
    var beginsLikeResponse: Bool {
        withUnsafeReadableBytes { bytes in
            guard let first = bytes.first, first != 0x0D, first != 0x0A else { return true }
            return bytes.prefix(5).elementsEqual("HTTP/".utf8.prefix(bytes.count))
        }
    }

    /// Whether the slice `piece` was cut from the end of this buffer.
    ///
    /// Slices share the memory of their buffer, so addresses decide. If the parser had to join two reads the memory
    /// differs, and the bytes decide.
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
