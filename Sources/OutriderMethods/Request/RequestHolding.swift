// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The state of a request, after something was done to it.
struct RequestStateResult: JSONEncodable {
    var state: RequestPhase

    init(_ exchange: Exchange) { state = exchange.snapshot.phase }

    func encode(to writer: inout JSONWriter) { writer.object { $0.member("state", state.rawValue) } }
}

/// Starts a request that was not started, or goes on with a suspended one.
struct RequestResume: Method {
    static let name = "request.resume"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let exchange = try call.scope.handles.find(params.request, "request").exchange
        exchange.resume()
        return RequestStateResult(exchange)
    }
}

/// Holds a request up: nothing is sent or read, and its timeouts stand still.
struct RequestSuspend: Method {
    static let name = "request.suspend"

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> RequestStateResult {
        let exchange = try call.scope.handles.find(params.request, "request").exchange
        exchange.suspend()
        return RequestStateResult(exchange)
    }
}
