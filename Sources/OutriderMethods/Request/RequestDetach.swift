// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Lets a request outlive this connection.
struct RequestDetach: Method {
    static let name = "request.detach"

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        var label: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            label = try fields.optional("name", check: RequestName.fault)
            try fields.finish()
            self.request = try JSONFields.need("request", request)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.request, "request")
        if call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detaching works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/request")])
        }
        try record.detach(as: params.label, from: call.scope)
        return ReplyMembers(stateOf: record.exchange)
    }
}
