// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Records the requests of a session to a cassette, or plays them from it.
struct ReplayStart: Method {
    static let name = "replay.start"

    struct Params: LongParams {
        var session: SessionReference?
        var replay: ReplayParameter

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            session = try fields.optional("session")
            replay = try ReplayParameter(rest: fields)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplayInfoShape {
        let stage = try call.scope.madeStage(named: params.session)
        if stage.tape != nil { throw Self.taken }
        let tape = try await params.replay.open(call, pointer: "/path")
        guard stage.put(tape) else {
            await tape.stop()
            throw Self.taken
        }
        return ReplayInfoShape(tape)
    }

    private static var taken: RPCError {
        RPCError(
            .wrongState, "the session has a cassette already: stop it with replay.stop first",
            data: ["pointer": .string("/session"), "state": .string("playing")])
    }
}
