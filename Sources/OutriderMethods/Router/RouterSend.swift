// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Sends a request to an endpoint; the result has its response.
struct RouterSend: Method {
    static let name = "router.send"

    static func call(_ params: RouterCall, _ call: Call<ClientScope>) async throws -> ResponseReply {
        do {
            return try await DataSend.call(await params.request(call), call)
        } catch {
            throw params.located(error)
        }
    }
}
