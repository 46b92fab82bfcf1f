// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

protocol StreamEvent: JSONEncodable, Sendable {
    var name: String { get }
}

/// `event.data`: the next bytes of a push stream.
struct Chunk: StreamEvent {
    var name: String { "event.data" }
    var stream: Handle<ByteStream>
    var piece: StreamMachine.Piece

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stream", stream)
            writer.member("seq", piece.sequence)
            writer.member("offset", piece.offset)
            piece.bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        }
    }
}

/// `event.end`: a push stream has ended.
struct End: StreamEvent {
    var name: String { "event.end" }
    var stream: Handle<ByteStream>
    var sequence: Int
    /// Bytes in all.
    var size: Int
    var failure: JSONText?

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stream", stream)
            writer.member("seq", sequence)
            writer.member("size", size)
            writer.member("error", failure)
        }
    }
}
