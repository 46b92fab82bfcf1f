// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Suspends a request: nothing is sent or read, and its timeouts stop.
struct RequestSuspend: Method {
    static let name = "request.suspend"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let exchange = try call.scope.handles.find(params.handle, "request").exchange
        exchange.suspend()
        return ReplyMembers(stateOf: exchange)
    }
}

extension ReplyMembers {
    /// The state of a request after a method changed the request.
    init(stateOf exchange: Exchange) {
        let state = exchange.snapshot.phase
        self.init { $0.member("state", state.rawValue) }
    }
}
