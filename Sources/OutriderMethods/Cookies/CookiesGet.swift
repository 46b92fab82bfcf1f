// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Returns the value of a cookie: the first of that name in the order of sending.
struct CookiesGet: Method {
    static let name = "cookies.get"

    static func call(_ params: NamedCookieParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let cookie: Cookie? = params.filter.cookies(try await params.jar.resolved(call)).first
        return ReplyMembers { $0.member("cookie", cookie.map(CookieShape.init)) }
    }
}
