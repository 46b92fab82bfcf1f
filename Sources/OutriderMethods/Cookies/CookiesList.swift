// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The params of a method that is about some cookies of a jar.
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

/// The same for cookies of one name.
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

/// Gives the value of one cookie: the first of that name in the order of sending.
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

/// Removes cookies.
struct CookiesDelete: Method {
    static let name = "cookies.delete"

    static func call(_ params: NamedCookieParams, _ call: Call<ClientScope>) async throws -> CookieChangesShape {
        let jar = try await params.jar.resolved(call)
        let condition = params.filter.condition(jar)
        return CookieChangesShape(changes: await jar.changed { $0.removeAll(where: condition) })
    }
}

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

    struct Result: JSONEncodable {
        var deleted: Int

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("deleted", deleted) } }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let jar = try await params.jar.resolved(call)
        let isSessionOnly = params.isSessionOnly
        let condition = params.filter.condition(jar)
        let changes = await jar.changed { jar in
            jar.removeAll { (!isSessionOnly || $0.expires == nil) && condition($0) }
        }
        return Result(deleted: changes.count)
    }
}
