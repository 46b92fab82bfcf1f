// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Makes a callback to the client, and returns the client's reply.
struct DiagnosticsCallback: Method {
    static let name = "diagnostics.callback"

    struct Params: JSONDecodable {
        var method: String
        var params: JSONObject
        /// Seconds.
        var timeout: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            method = try fields.optional("method") ?? "callback.ask"
            params = try fields.optional("params") ?? JSONObject()
            timeout = try fields.number("timeout", in: 0.1...600) ?? 30
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let callback = Callback(params.method, params.params)
        let scope = call.scope
        try await scope.line.enter(isReconnect: false, within: params.timeout, scope.service.engine)
        defer { scope.line.leave(isReconnect: false) }
        let response: CallbackResponse = try await call.peer.call(callback, timeout: .seconds(params.timeout))
        return ReplyMembers { writer in
            writer.member("answer", response.value)
            writer.member("id", response.id)
        }
    }
}
