// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Returns the value of a cookie: the first of that name in the order of sending.
struct CookiesGet: Method {
    static let name = "cookies.get"

    struct Result: JSONEncodable {
        var cookie: Cookie?

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("cookie", cookie.map(CookieShape.init)) } }
    }

    static func call(_ params: NamedCookieParams, _ call: Call<ClientScope>) async throws -> Result {
        Result(cookie: params.filter.cookies(try await params.jar.resolved(call)).first)
    }
}
