// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
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

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let record = try call.scope.handles.find(params.request, "request")
        if call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detaching works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/request")])
        }
        try record.detach(as: params.label, from: call.scope)
        return RequestStateResult(record.exchange)
    }
}

/// Shares a detached request with this connection.
struct RequestAdopt: Method {
    static let name = "request.adopt"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let record = try call.scope.handles.find(params.request, "request")
        record.adopt(by: call.scope)
        return RequestStateResult(record.exchange)
    }
}

/// Ends a request, and forgets it with all that is kept of it.
struct RequestForget: Method {
    static let name = "request.forget"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try call.scope.handles.find(params.request, "request")
        if let events = record.events, events.tells(call.peer) { await events.cutShort() }
        record.forget(by: call.scope)
        return JSONNothing()
    }
}
