// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Forgets a router; requests that it made go on.
struct RouterDelete: Method {
    static let name = "router.delete"

    static func call(_ params: RouterReference, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try call.scope.routers.find(params.router)
        if call.peer.info.isOtherUser, call.scope.service.routers.holds(record) {
            throw RPCError(
                .notPermitted, "the service was started with this router: only its own user may delete it",
                data: ["pointer": .string("/router")])
        }
        call.scope.routers.remove(record)
        return JSONNothing()
    }
}
