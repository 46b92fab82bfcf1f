// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOEmbedded
import NIOHTTP1
import OutriderHTTP
import Testing

/// The reader of responses beside the parser of NIO, which refuses more (folded lines, lines that end in LF alone) and
/// gives standard phrases only.
struct ResponseReaderComparison {
    private struct Found: Equatable {
        var heads: [ResponseHead] = []
        var body: [UInt8] = []
        var isWhole = false
    }

    private func found(_ bytes: [UInt8]) -> Found? {
        var (found, reader, position) = (Found(), ResponseReader(), 0)
        do {
            while let part = try bytes.withUnsafeBytes({ try reader.next($0, from: &position) }) {
                switch part {
                case .head(var head):
                    head.reason = ""
                    found.heads.append(head)
                    if head.status >= 200 { reader.begin(try BodyFraming.of(head, to: "GET").0) }
                case .body(let range): found.body += bytes[range]
                case .end:
                    found.isWhole = true
                    return found
                }
            }
        } catch {
            return nil
        }
        return found
    }

    private func parsed(_ bytes: [UInt8]) throws -> Found? {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let decoder = HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
        try channel.writeOutbound(
            HTTPClientRequestPart.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")))
        do { try channel.writeInbound(ByteBuffer(bytes: bytes)) } catch { return nil }
        var found = Found()
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self), !found.isWhole {
            switch part {
            case .head(let head): found.heads.append(ResponseHead(head))
            case .body(let piece): found.body += Array(piece.readableBytesView)
            case .end: found.isWhole = true
            }
        }
        return found
    }

    @Test func `what NIO's parser accepts is read in the same way`() throws {
        var random = SplitMix(9112)
        var same = 0
        for _ in 0..<20_000 {
            let bytes = GeneratedResponses.next(&random)
            // NIO replaces what is not UTF-8
            guard String(validating: bytes, as: UTF8.self) != nil else { continue }
            guard let parsed = try parsed(bytes), let found = found(bytes) else { continue }
            #expect(found == parsed, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            same += found.isWhole ? 1 : 0
        }
        #expect(same > 3_000, "only \(same) were whole in both")
    }
}

extension ResponseHead {
    fileprivate init(_ head: HTTPResponseHead) {
        let fields = head.headers.map { name, value in
            HTTPFields.Field(name, String(FieldRules.trimmed(value[...])))
        }
        self.init(
            status: Int(head.status.code),
            version: HTTPVersion(head.version.major, head.version.minor), fields: HTTPFields(fields))
    }
}
