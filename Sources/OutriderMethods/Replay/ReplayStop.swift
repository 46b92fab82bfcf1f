// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC

/// Ends the cassette of a session.
struct ReplayStop: Method {
    static let name = "replay.stop"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplayInfoShape {
        guard let tape = try call.scope.stage(named: params.session)?.eject() else { throw RPCError.noCassette }
        await tape.stop()
        return ReplayInfoShape(tape)
    }
}
