// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Forgets a router; requests that it made go on.
struct RouterDelete: Method {
    static let name = "router.delete"

    static func call(_ params: RouterReference, _ call: Call<ClientScope>) async throws -> JSONNothing {
        call.scope.routers.remove(try call.scope.routers.find(params.router))
        return JSONNothing()
    }
}
