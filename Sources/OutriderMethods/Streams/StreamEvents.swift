// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

protocol StreamEvent: JSONEncodable, Sendable {
    var name: String { get }
}

/// The next items of a push stream: a single item in an event of its kind, or several in `event.values`.
struct PieceEvent: StreamEvent {
    /// The name of the stream's handle.
    var stream: String
    var look: ItemLook
    var isBatched: Bool
    var piece: StreamMachine.Piece

    var name: String {
        if piece.state != nil { return "event.socket" }
        return isBatched ? "event.values" : look.event
    }

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stream", stream)
            writer.member("seq", piece.sequence)
            if let state = piece.state { return writer.members(state) }
            writer.member("offset", piece.offset)
            if look.place != .base64 { writer.member("bytes", piece.bytes) }
            if isBatched {
                writer.values(of: piece)
                if let failure = piece.failure { writer.member("error", FailureShape(failure)) }
            } else if let item = piece.items.first {
                writer.members(of: item)
            }
        }
    }

    var expectedBytes: Int { piece.expectedBytes }
}

/// `event.end`: a push stream has ended.
struct EndEvent: StreamEvent {
    var name: String { "event.end" }
    /// The name of the stream's handle.
    var stream: String
    var sequence: Int
    /// Bytes in total.
    var size: Int
    var failure: JSONText?
    /// How the WebSocket was closed; nil for other streams.
    var close: SocketClose?

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stream", stream)
            writer.member("seq", sequence)
            writer.member("size", size)
            writer.member("close", close)
            writer.member("error", failure)
        }
    }
}

extension StreamMachine.Piece {
    /// The state of the connection, if the only item is a state.
    var state: JSONText? {
        if case .state(let state)? = items.first?.content { state } else { nil }
    }

    var expectedBytes: Int { items.reduce(192) { $0 &+ $1.writtenBytes } }
}

extension JSONWriter {
    /// Writes an item into an event of its own.
    fileprivate mutating func members(of item: StreamItem) {
        switch item.content {
        case .data(let bytes): bytes.withUnsafeBytes { member("base64", base64: $0) }
        case .text(let text): member("text", text)
        case .value(let value): member("value", value)
        case .members(let members): self.members(members)
        case .failed(let failure): member("error", FailureShape(failure))
        // a piece holds neither of these here
        case .unmade, .state: break
        }
    }

    /// Writes the items as a list, which is empty for a failed item.
    mutating func values(of piece: StreamMachine.Piece) {
        name("values")
        array { writer in
            for item in piece.items {
                switch item.content {
                case .data(let bytes):
                    writer.object { writer in bytes.withUnsafeBytes { writer.member("base64", base64: $0) } }
                case .text(let text), .value(let text): writer.text(text)
                case .members(let members): writer.object { $0.members(members) }
                case .state(let state): writer.object { $0.member("socket") { $0.members(state) } }
                case .failed, .unmade: break
                }
            }
        }
    }
}

extension StreamMachine.Piece {
    /// The failure, if the only item failed.
    var failure: HTTPFailure? {
        if case .failed(let failure)? = items.first?.content { failure } else { nil }
    }
}
