// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Lists the routers that a client can use.
struct RouterList: Method {
    static let name = "router.list"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let routers = call.scope.routers.all
        return ReplyMembers { $0.member("routers", routers) }
    }
}
