// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Stops the service: refuses new calls, and finishes those that run. The answer comes at once.
struct ServerStop: Method {
    static let name = "server.stop"

    struct Params: JSONDecodable {
        /// Seconds that running calls may still take.
        var grace: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            grace = try fields.number("grace", in: 0...3600) ?? 5
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let control = call.scope.control
        call.afterReply { control.stop(grace: .seconds(params.grace)) }
        return JSONNothing()
    }
}
