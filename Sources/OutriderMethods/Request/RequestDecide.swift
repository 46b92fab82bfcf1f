// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Replies to a callback that waited as `event.decision`.
struct RequestDecide: Method {
    static let name = "request.decide"

    struct Params: JSONDecodable {
        var decision: Handle<Decision>
        var reply: JSONValue
        /// Why the client does not decide.
        var error: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let decision: Handle<Decision>? = try fields.optional("decision")
            reply = try fields.optional("answer", as: JSONObject.self).map { .object($0) } ?? .object([:])
            error = try fields.optional("error")
            try fields.finish()
            self.decision = try JSONFields.need("decision", decision)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let decision = try call.scope.handles.find(params.decision, "decision")
        let result: Swift.Result<CallbackReply<JSONValue>, RPCError>
        if let message = params.error {
            result = .failure(
                RPCError(
                    .callbackFailed, "the client replied with an error: \(message.excerpt)",
                    data: ["error": .object(["message": .string(message)])]))
        } else {
            result = .success(CallbackReply(value: params.reply, charge: call.charge))
        }
        guard decision.settle(result) else {
            throw RPCError(
                .wrongState, "this decision has been made, or came too late",
                data: ["pointer": .string("/decision"), "state": .string("decided")])
        }
        return JSONNothing()
    }
}
