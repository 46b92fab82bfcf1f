// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Ends a request, and drops all its kept data.
struct RequestForget: Method {
    static let name = "request.forget"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try call.scope.handles.find(params.handle, "request")
        if let events = record.events, events.tells(call.peer) { await events.cutShort() }
        await record.forget(by: call.scope)
        return JSONNothing()
    }
}
