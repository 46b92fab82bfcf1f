// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Removes the cookies of a jar, or some of them.
struct CookiesClear: Method {
    static let name = "cookies.clear"

    struct Params: JSONDecodable {
        var jar: JarReference
        var filter: CookieFilter
        var isSessionOnly: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            filter = try CookieFilter(&fields, hasName: false)
            isSessionOnly = try fields.optional("sessionOnly") ?? false
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let jar = try await params.jar.resolved(call)
        let isSessionOnly = params.isSessionOnly
        let condition = params.filter.condition(jar)
        let changes = await jar.changed { jar in
            jar.removeAll { (!isSessionOnly || $0.expires == nil) && condition($0) }
        }
        jar.raiseGeneration()
        CacheOwner.forget(jar.owner, in: call.scope.service.engine.settings.caches)
        let problem = jar.unwritten
        return ReplyMembers { writer in
            writer.member("deleted", changes.count)
            writer.member("problem", problem)
        }
    }
}
