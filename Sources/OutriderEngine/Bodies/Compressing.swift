// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

extension RequestCompression {
    /// A body of more bytes is compressed away from the event loop.
    private static let longBytes = 16 << 10

    /// Bytes are compressed now, so that their length is known; files and streams while being sent.
    func apply(to attempt: inout Attempt) async throws(HTTPFailure) {
        guard try begin(&attempt.fields, attempt.body) else { return }
        switch attempt.body {
        case .none: break
        case .bytes(let bytes):
            let (coding, client) = (coding, attempt.client)
            let compressed =
                bytes.count <= Self.longBytes
                ? try Self.compressed(bytes, coding)
                : try await compute(for: client) { () throws(HTTPFailure) in try Self.compressed(bytes, coding) }
            attempt.body = .bytes(compressed)
            attempt.plainBodySize = Int64(bytes.count)  // safe: an Int is an Int64
        case .file(let path, let size):
            attempt.body = .composed(ComposedBody([.file(path: path, size: size, pointer: nil)], coding: coding))
        case .composed(let body): attempt.body = .composed(ComposedBody(body.pieces, coding: coding))
        }
    }

    private static func compressed(_ bytes: [UInt8], _ coding: BodyCoding) throws(HTTPFailure) -> [UInt8] {
        let stream = coding.makeStream()
        var output = try stream.compress(ByteBuffer(bytes: bytes))
        output.writeImmutableBuffer(try stream.finish())
        return Array(buffer: output)
    }
}
