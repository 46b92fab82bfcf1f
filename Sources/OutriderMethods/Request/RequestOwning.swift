// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Gives a request to the service, so that it outlives this connection.
struct RequestDetach: Method {
    static let name = "request.detach"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let record = try call.scope.handles.find(params.request, "request")
        if call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detaching works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/request")])
        }
        try record.move(to: call.scope.service.detached, of: call.scope)
        return RequestStateResult(record.exchange)
    }
}

/// Takes over a request that was detached: from now on it ends with this connection.
struct RequestAdopt: Method {
    static let name = "request.adopt"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let record = try call.scope.handles.find(params.request, "request")
        try record.move(to: call.scope.handles, of: call.scope)
        return RequestStateResult(record.exchange)
    }
}

/// Ends a request, and forgets it with all that is kept of it.
struct RequestForget: Method {
    static let name = "request.forget"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try call.scope.handles.find(params.request, "request")
        if let events = record.events, events.tells(call.peer) { await events.cutShort() }
        record.forget()
        return JSONNothing()
    }
}
