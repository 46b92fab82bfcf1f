// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
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

    struct Result: JSONEncodable {
        var cookies: [Cookie]
        var name: String?
        var store: JarStoreState?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("cookies", cookies.map(CookieShape.init))
                writer.member("jar", name)
                writer.member("problem", store?.problem)
            }
        }
    }

    static func call(_ params: CookieFilterParams, _ call: Call<ClientScope>) async throws -> Result {
        let jar = try await params.jar.resolved(call)
        return Result(cookies: params.filter.cookies(jar), name: jar.name, store: jar.storeState)
    }
}
