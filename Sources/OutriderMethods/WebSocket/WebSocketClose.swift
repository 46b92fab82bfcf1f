// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Closes a WebSocket.
struct WebSocketClose: Method {
    static let name = "websocket.close"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        var code: Int
        var reason: String
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            code =
                try fields.optional("code", as: Int.self) { code in
                    CloseCode.isSendable(code) ? nil : "must be 1000 to 1003, 1007 to 1014, or 3000 to 4999"
                } ?? CloseCode.normal
            reason =
                try fields.optional("reason", as: String.self) { reason in
                    reason.utf8.count <= CloseCode.longestReason ? nil : "must have at most 123 bytes in UTF-8"
                } ?? ""
            wait = try fields.number("wait", in: 0...600) ?? 5
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> SocketClose {
        let socket = try call.scope.handles.find(params.stream, "stream").openSocket()
        return try await socket.close(params.code, params.reason, wait: .seconds(params.wait))
    }
}
