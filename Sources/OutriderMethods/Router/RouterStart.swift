// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Starts a request to an endpoint; the result, at once, has its handle.
struct RouterStart: Method {
    static let name = "router.start"

    static func call(_ params: RouterCall, _ call: Call<ClientScope>) async throws -> DataStart.Result {
        do {
            return try await DataStart.call(await params.request(call), call)
        } catch {
            throw params.located(error)
        }
    }
}
