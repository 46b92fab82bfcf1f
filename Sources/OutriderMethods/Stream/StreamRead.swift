// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Takes the next bytes of a pull stream.
struct StreamRead: Method {
    static let name = "stream.read"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        /// The item options, allowed until the first read.
        var options: StreamOptions?
        var bytes: Int
        var items: Int
        /// The least number of bytes.
        var least: Int?
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            let options = try StreamOptions(reading: &fields)
            if fields.value("as") != nil { self.options = options }
            bytes = try fields.integer("bytes", in: 1...8_388_608) ?? 32768
            items = try fields.integer("items", in: 1...1_000_000) ?? .max
            least = try fields.integer("min", in: 1...8_388_608)
            wait = try fields.number("wait", in: 0...600) ?? 30
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
            if let least, least > bytes {
                throw JSONComplaint(
                    "min is more than bytes, the most that the read returns: raise bytes to \(least)",
                    at: JSONPointer(member: "min"))
            }
        }
    }

    struct Items: ObjectShape, Sendable {
        var piece: StreamMachine.Piece
        var place: ItemLook.Place
        var end: Bool
        /// Whether bytes may follow the reply, instead of base64.
        var takesRaw = false
        /// `min` bytes did not come in time.
        var isTimedOut = false
        var failure: HTTPFailure?
        /// With `end`: how the WebSocket was closed.
        var close: SocketClose?

        var raw: [UInt8]? {
            guard takesRaw, place == .base64, case .data(let bytes) = piece.items.first?.content,
                bytes.count >= ResponseBodyShape.rawFrom
            else { return nil }
            return bytes
        }

        func encodeMembers(to writer: inout JSONWriter) {
            switch (place, piece.items.first?.content) {
            case _ where raw != nil: writer.member("raw", true)
            case (.base64, .data(let bytes)), (.text, .data(let bytes)):
                bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
            case (.base64, _): writer.member("base64", "")
            case (.text, .text(let text)): writer.member("text", text)
            case (.text, _): writer.member("text", "")
            case (.values, _): writer.values(of: piece)
            }
            writer.member("offset", piece.offset)
            if place != .base64 { writer.member("bytes", piece.bytes) }
            writer.member("seq", piece.sequence)
            writer.member("end", end)
            if isTimedOut { writer.member("timedOut", true) }
            writer.member("close", close)
            if let failure = failure ?? piece.failure { writer.member("error", FailureShape(failure)) }
        }

        var expectedBytes: Int { piece.expectedBytes }
    }

    /// A result with a long item is written away from the loop.
    enum Result: JSONEncodable {
        case items(Items)
        case text(JSONText)

        func encode(to writer: inout JSONWriter) {
            switch self {
            case .items(let items): items.encode(to: &writer)
            case .text(let text): writer.text(text)
            }
        }

        var expectedBytes: Int {
            switch self {
            case .items(let items): items.raw == nil ? items.expectedBytes : 128
            case .text(let text): text.bytes.count
            }
        }

        var raw: [UInt8]? {
            if case .items(let items) = self { items.raw } else { nil }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let stream = try call.scope.handles.reading(params.stream)
        if let options = params.options { try stream.become(options.scanner, options.look, named: options.name) }
        if params.least != nil, !stream.isOfBytes {
            throw RPCError.wrongState("min counts bytes, and this stream is read as something else", "items")
        }
        let options = ReadStream.ReadLimits(bytes: params.bytes, items: params.items, least: params.least ?? 1)
        switch try await stream.read(options, wait: .seconds(params.wait)) {
        case .piece(let piece, let end, let failure):
            if end { stream.release() }
            let isTimedOut = params.least != nil && piece.items.isEmpty && !end
            let items = Items(
                piece: piece, place: stream.look.place, end: end, takesRaw: call.takesRaw(call.peer.terms),
                isTimedOut: isTimedOut, failure: failure, close: end ? stream.socketClose : nil)
            guard items.place == .values, items.expectedBytes > StreamItem.mostAtOnce else { return .items(items) }
            return .text(await background { JSONText(written: JSONWriter.bytes(of: items)) })
        case .wrongMode:
            throw RPCError.wrongState("this stream sends events; open it with mode \"pull\" to read it", "push")
        case .busy:
            let text =
                if stream.isAttached {
                    "another connection carries the stream (stream.attach): read its bytes there"
                } else if stream.duplex != nil {
                    "\(ReadStream.mostReaders) reads of this stream are waiting: wait for their results"
                } else {
                    "another stream.read of this stream is waiting"
                }
            throw RPCError.wrongState(text, "reading")
        case .closed:
            throw RPCError.wrongState("the stream was closed", "closed")
        }
    }
}
