// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The Cookie field that a request to a URL would have.
struct CookiesHeader: Method {
    static let name = "cookies.header"

    struct Params: JSONDecodable {
        var jar: JarReference
        var target: CookieTarget

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            target = try CookieTarget(rest: fields)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let jar = try await params.jar.resolved(call)
        var copy = jar.contents
        let value: String? = copy.choose(for: try params.target.request(jar), now: CookieClock.now).field
        return ReplyMembers { $0.member("value", value) }
    }
}
