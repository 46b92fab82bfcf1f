// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Turns the connection into the bytes of a stream: the bytes after the reply are the body, in either direction.
struct StreamAttach: Method {
    static let name = "stream.attach"
    static let takesBytes = true

    enum Direction: String, Sendable, CaseIterable { case read, write, both }

    struct Params: JSONDecodable {
        var stream: String
        var direction: Direction
        /// Bytes that the client will write; fewer or more are a failure.
        var size: Int?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream: String? = try fields.optional("stream")
            direction = try fields.choice("direction") ?? .read
            size = try fields.integer("size", in: 0...9_007_199_254_740_992)
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    struct Result: ObjectShape {
        var size: Int?
        var failure: HTTPFailure?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("raw", true)
            if let size { writer.member("size", size) }
            if let failure { writer.member("error", FailureShape(failure)) }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        guard call.id != nil else {
            throw RPCError(.invalidRequest, "stream.attach needs an id: its reply marks the beginning of the bytes")
        }
        guard let thing = call.scope.service.streams.find(params.stream, user: call.peer.info.uid) else {
            throw RPCError(
                .unknownHandle,
                "stream names nothing here: \(params.stream.prefix(40)) was never given, is over, or is another user's",
                data: ["pointer": .string("/stream")])
        }
        // before any wait: bytes may follow the call at once
        let pipe = try call.peer.hijack()
        switch (params.direction, thing) {
        case (.read, let stream as ReadStream) where stream.socket != nil,
            (.write, let stream as ReadStream) where stream.socket != nil:
            throw RPCError.wrongState("a WebSocket is attached to as a whole: with direction \"both\"", "both")
        case (.read, let stream as ReadStream):
            let beginning = try await stream.attach()
            call.afterReply { stream.carry(on: pipe) }
            return Result(size: beginning.size, failure: beginning.failure)
        case (.write, let stream as UploadStream):
            try stream.attach()
            let size = params.size
            call.afterReply {
                // Ends with the connection, or with the stream.
                Task { await stream.fill(from: pipe, size) }
            }
            return Result()
        case (.both, let stream as ReadStream) where stream.socket != nil:
            let failure = try await stream.attachMessages()
            call.afterReply { stream.carryMessages(on: pipe) }
            return Result(failure: failure)
        case (.both, let stream as ReadStream):
            guard let duplex = stream.duplex else {
                throw RPCError.wrongState("this stream is only read; attach to it with direction \"read\"", "read")
            }
            let beginning = try await stream.attach()
            do throws(RPCError) {
                try duplex.upload.attach()
            } catch {
                // the reading half can still be read
                stream.detach()
                throw error
            }
            call.afterReply {
                stream.carry(on: pipe, ignoresInput: false)
                // Ends with the connection, or with the stream.
                Task { await duplex.feed(from: pipe) }
            }
            return Result(size: beginning.size, failure: beginning.failure)
        case (.both, _):
            throw RPCError.wrongState("this stream feeds a body; attach to it with direction \"write\"", "write")
        case (.write, let stream as ReadStream) where stream.duplex != nil:
            throw RPCError.wrongState("a TCP stream is attached to as a whole: with direction \"both\"", "both")
        case (.read, _):
            throw RPCError.wrongState("this stream feeds a body; attach to it with direction \"write\"", "write")
        case (.write, _):
            throw RPCError.wrongState("this stream is read; attach to it with direction \"read\"", "read")
        }
    }
}
