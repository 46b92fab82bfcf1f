// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Suspends a request: nothing is sent or read, and its timeouts stop.
struct RequestSuspend: Method {
    static let name = "request.suspend"

    static func call(_ params: HandleParams<RequestRecord>, _ call: Call<ClientScope>) async throws
        -> RequestStateResult
    {
        let exchange = try call.scope.handles.find(params.handle, "request").exchange
        exchange.suspend()
        return RequestStateResult(exchange)
    }
}
