// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Cancels a request: calls that wait for it get a Response with failure 1900.
struct RequestCancel: Method {
    static let name = "request.cancel"

    struct Result: JSONEncodable {
        var state: RequestPhase

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("state", state.rawValue) } }
    }

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> Result {
        let exchange = try call.scope.handles.find(params.request, "request").exchange
        exchange.cancel()
        return Result(state: exchange.snapshot.phase)
    }
}

/// The params of a method that is about one request.
struct RequestReference: JSONDecodable {
    var request: Handle<RequestRecord>

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let request: Handle<RequestRecord>? = try fields.optional("request")
        try fields.finish()
        self.request = try JSONFields.need("request", request)
    }
}
