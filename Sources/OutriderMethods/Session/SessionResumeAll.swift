// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Resumes or starts every request of a session.
struct SessionResumeAll: Method {
    static let name = "session.resumeAll"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.resume() }
        return ReplyMembers { $0.member("resumed", exchanges.count) }
    }
}
