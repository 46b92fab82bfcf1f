// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Forgets an interceptor. Requests and sessions with this interceptor keep using the copy that they have.
struct InterceptorDelete: Method {
    static let name = "interceptor.delete"

    struct Params: JSONDecodable {
        var interceptor: Handle<InterceptorRecord>

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let interceptor: Handle<InterceptorRecord>? = try fields.optional("interceptor")
            try fields.finish()
            self.interceptor = try JSONFields.need("interceptor", interceptor)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        _ = try call.scope.handles.find(params.interceptor, "interceptor")
        call.scope.handles.remove(params.interceptor)
        return JSONNothing()
    }
}
