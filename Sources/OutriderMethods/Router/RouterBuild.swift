// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Shows the request that a call of an endpoint would send, without sending it.
struct RouterBuild: Method {
    static let name = "router.build"

    static func call(_ params: RouterCall, _ call: Call<ClientScope>) async throws -> RequestBuild.Result {
        do {
            return try await RequestBuild.call(await params.request(call), call)
        } catch {
            throw params.located(error)
        }
    }
}
