// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Tells how a session stands.
struct SessionGet: Method {
    static let name = "session.get"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> SessionInfoShape {
        SessionInfoShape(try params.session?.resolved(call.scope), call.scope)
    }
}
