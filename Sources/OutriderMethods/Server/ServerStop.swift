// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Stops the service: refuses new calls, and finishes the running calls. The reply comes at once.
struct ServerStop: Method {
    static let name = "server.stop"

    struct Params: JSONDecodable {
        /// Seconds that running calls may still take.
        var grace: Double
        /// Stop even if requests or data are lost.
        var isForced: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            grace = try fields.number("grace", in: 0...3600) ?? 5
            isForced = try fields.optional("force") ?? false
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let unsaved = await call.scope.service.engine.credentials.save()
        guard unsaved.isEmpty || params.isForced else {
            throw RPCError(
                .wrongState,
                "the tokens of \(unsaved.joined(separator: ", ")) are not on disk yet, and the next start of the machine would "
                    + "forget them: make room there, or stop with force",
                data: ["credentials": .array(unsaved.map { .string($0) }), "state": .string("unsaved")])
        }
        let control = call.scope.control
        call.afterReply { control.stop(grace: .seconds(params.grace)) }
        return JSONNothing()
    }
}
