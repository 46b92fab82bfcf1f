// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Fails with the given error, to test a client's handling of errors.
struct DiagnosticsFail: Method {
    static let name = "diagnostics.fail"

    struct Params: JSONDecodable {
        var error: RPCError

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let code = try fields.integer("code", in: Int(Int32.min)...Int(Int32.max))
            let message = try fields.optional("message", as: String.self)
            let data = try fields.optional("data", as: JSONObject.self)
            try fields.finish()
            error = RPCError(
                code: try JSONFields.need("code", code), try JSONFields.need("message", message), data: data)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing { throw params.error }
}
