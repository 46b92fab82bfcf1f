// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Suspends every request of a session.
struct SessionSuspendAll: Method {
    static let name = "session.suspendAll"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.suspend() }
        let suspended = exchanges.count { $0.snapshot.phase == .suspended }
        return ReplyMembers { $0.member("suspended", suspended) }
    }
}
