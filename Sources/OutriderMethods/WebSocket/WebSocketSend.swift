// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sends messages on a WebSocket. Also of use as a notification.
struct WebSocketSend: Method {
    static let name = "websocket.send"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        var messages: [OutgoingMessage]
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            let one = try MessageParameter.read(&fields)
            let many: [MessageParameter]? = try fields.optional("messages") {
                $0.count > 10_000 ? "must hold at most 10,000 messages" : nil
            }
            wait = try fields.number("wait", in: 0...600) ?? 30
            try fields.finish()
            guard (one == nil) != (many == nil) else {
                throw JSONComplaint("give exactly one of text, base64, json and messages")
            }
            messages = many?.map(\.message) ?? one.map { [$0] } ?? []
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    struct Result: ObjectShape {
        var sent: Int
        var room: Int

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("sent", sent)
            writer.member("room", room)
        }
    }

    static func call(_ params: consuming Params, _ call: Call<ClientScope>) async throws -> Result {
        let socket = try call.scope.handles.find(params.stream, "stream").openSocket()
        let (count, wait) = (params.messages.count, Duration.seconds(call.id == nil ? 0 : params.wait))
        // the frames are made now: this call does not hold on to the messages
        let refusal = socket.take((consume params).messages, memory: call.charge)
        switch refusal {
        case nil: return Result(sent: count, room: try await socket.room(wait))
        case .refused(let error): throw error
        case .noMemory: throw refused(call.scope.noMemory(), socket, call)
        case .tooMuch:
            let text = "too many bytes wait to be sent: wait for the results of earlier calls"
            let error = RPCError(
                .tooMany, text,
                data: ["limit": .integer(Int64(WebSocketSending.limit)), "what": .string("streamBytes")])
            throw refused(error, socket, call)
        }
    }

    /// The error of a call. Of a notification no reply can report the missing message, so the WebSocket must close.
    private static func refused(_ error: RPCError, _ socket: WebSocketSource, _ call: Call<ClientScope>) -> RPCError {
        if call.id == nil {
            let text = "the WebSocket failed: \(error.message)"
            socket.fail(
                WebSocketFault(CloseCode.policyViolation, error.message),
                HTTPFailure(.webSocketQueueFull, text, phase: .request, sent: .notSent))
        }
        return error
    }
}
