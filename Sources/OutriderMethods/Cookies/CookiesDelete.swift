// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// Removes cookies.
struct CookiesDelete: Method {
    static let name = "cookies.delete"

    static func call(_ params: NamedCookieParams, _ call: Call<ClientScope>) async throws -> CookieChangesShape {
        let jar = try await params.jar.resolved(call)
        let condition = params.filter.condition(jar)
        let changes = await jar.changed { $0.removeAll(where: condition) }
        return CookieChangesShape(changes: changes, problem: jar.unwritten)
    }
}
