// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

/// Starts a request that was not started, or resumes a suspended request.
struct RequestResume: Method {
    static let name = "request.resume"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let exchange = try call.scope.handles.find(params.handle, "request").exchange
        exchange.resume()
        return ReplyMembers(stateOf: exchange)
    }
}
