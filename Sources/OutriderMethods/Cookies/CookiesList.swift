// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// The params of a method for some cookies of a jar.
struct CookieFilterParams: JSONDecodable {
    var jar: JarReference
    var filter: CookieFilter

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        jar = try JarReference.read(&fields)
        filter = try CookieFilter(&fields)
        try fields.finish()
    }
}

/// The same for cookies of a single name.
struct NamedCookieParams: JSONDecodable {
    var jar: JarReference
    var filter: CookieFilter

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        jar = try JarReference.read(&fields)
        filter = try CookieFilter(&fields)
        try fields.finish()
        _ = try JSONFields.need("name", filter.name)
    }
}

/// Lists the cookies of a jar.
struct CookiesList: Method {
    static let name = "cookies.list"

    static func call(_ params: CookieFilterParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let jar = try await params.jar.resolved(call)
        let (cookies, state) = (params.filter.cookies(jar), jar.storeState)
        return ReplyMembers { writer in
            writer.member("cookies", cookies.map(CookieShape.init))
            writer.member("jar", jar.name)
            writer.member("problem", state?.problem)
        }
    }
}
