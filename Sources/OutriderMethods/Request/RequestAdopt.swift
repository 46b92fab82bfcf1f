// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Shares a detached request with this connection.
struct RequestAdopt: Method {
    static let name = "request.adopt"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.handle, "request")
        record.adopt(by: call.scope)
        return ReplyMembers(stateOf: record.exchange)
    }
}
