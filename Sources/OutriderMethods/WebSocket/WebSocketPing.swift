// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sends a ping, and waits for its pong.
struct WebSocketPing: Method {
    static let name = "websocket.ping"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        var payload: [UInt8]?
        /// Seconds.
        var timeout: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            let base64: String? = try fields.optional("base64")
            timeout = try fields.number("timeout", in: 0.001...600) ?? 30
            try fields.finish()
            payload = try base64.map { text throws(JSONComplaint) in try Base64Parameter.bytes(text) }
            if (payload?.count ?? 0) > 125 {
                throw JSONComplaint("base64 must hold at most 125 bytes", at: JSONPointer(member: "base64"))
            }
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let socket = try call.scope.handles.find(params.stream, "stream").openSocket()
        switch try await socket.ping(params.payload, timeout: .seconds(params.timeout)) {
        case .rtt(let rtt): return ReplyMembers { $0.member("rtt", rtt / .seconds(1)) }
        case .refused(let error): throw error
        case .timedOut:
            let failure = HTTPFailure(
                .webSocketPingTimeout, "no pong came within \(params.timeout) seconds", phase: .response, sent: .sent)
            throw RPCError.wrongState(failure, "open")
        }
    }
}
