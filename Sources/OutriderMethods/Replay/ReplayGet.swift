// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

/// Tells how the cassette of a session stands.
struct ReplayGet: Method {
    static let name = "replay.get"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplayInfoShape {
        let stage = try call.scope.stage(named: params.session)
        guard let tape = stage?.tape ?? call.scope.service.engine.stage?.tape else { throw RPCError.noCassette }
        await tape.settle()
        return ReplayInfoShape(tape)
    }
}
