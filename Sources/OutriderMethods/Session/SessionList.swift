// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Lists the default session, this client's own, and the shared ones.
struct SessionList: Method {
    static let name = "session.list"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let scope = call.scope
        var records = scope.handles.all(SessionRecord.self) + scope.share.handles.all(SessionRecord.self)
        records.sort { ($0.label ?? "", $0.handle.name) < ($1.label ?? "", $1.handle.name) }
        let sessions = [SessionInfoShape(nil, scope)] + records.map { SessionInfoShape($0, scope) }
        return ReplyMembers { $0.member("sessions", sessions) }
    }
}
