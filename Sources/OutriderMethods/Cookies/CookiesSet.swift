// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sets cookies: as a server at a URL would, or individually.
struct CookiesSet: Method {
    static let name = "cookies.set"

    private static let most = 3000

    struct Params: JSONDecodable {
        var jar: JarReference
        var url: HTTPURL?
        var setCookie: [String]?
        var cookies: [CookieParameter]?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            if let text: String = try fields.optional("url") { url = try HTTPURL(parameter: "url", text) }
            setCookie = try fields.optional("setCookie") { (list: [String]) in
                list.count > most ? "must not hold more than \(most)" : nil
            }
            cookies = try fields.optional("cookies") { (list: [CookieParameter]) in
                list.count > most ? "must not hold more than \(most)" : nil
            }
            try fields.finish()
            guard (setCookie == nil) != (cookies == nil) else {
                throw JSONComplaint("must have exactly one of setCookie and cookies")
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CookieChangesShape {
        let jar = try await params.jar.resolved(call, makes: true)
        if let fields = params.setCookie {
            guard let request = params.url.flatMap({ CookieRequest($0, jar.suffixes) }) else {
                return CookieChangesShape(
                    changes: fields.map { _ in CookieChange(refused: "", domain: "", path: "/", .noHost) })
            }
            let texts = fields.map { FieldText($0) }
            let changes = await jar.changed(by: texts.count) {
                $0.take(texts, from: request, jar.suffixes, now: CookieClock.now)
            }
            return CookieChangesShape(changes: changes, problem: jar.unwritten)
        }
        let changes = await jar.put(params.cookies ?? [], for: params.url)
        return CookieChangesShape(changes: changes, problem: jar.unwritten)
    }
}

extension SharedJar {
    /// In microseconds, the unit of the times of cookies.
    private static let millisecond: Int64 = 1000

    /// Stores cookies in the jar, under the rules for all cookies.
    func put(_ cookies: [CookieParameter], for url: HTTPURL?) async -> [CookieChange] {
        await changed(by: cookies.count) { [suffixes] jar in
            var changes: [CookieChange] = []
            // the cookies of a response are created within the same millisecond, and exports have no smaller unit
            var sameTime: [Int64: Int64] = [:]
            for (index, parameter) in cookies.enumerated() {
                let now = CookieClock.now
                do throws(CookieError) {
                    // keeps their order
                    var cookie = try parameter.made(for: url, suffixes, now: now + Int64(index))
                    let rank = sameTime[cookie.created, default: 0]
                    sameTime[cookie.created] = rank + 1
                    if cookie.created % Self.millisecond == 0 { cookie.created &+= min(rank, Self.millisecond - 1) }
                    changes += jar.put(cookie, site: suffixes.site(of: cookie.domain), now: now)
                } catch {
                    changes.append(
                        CookieChange(refused: error.name, domain: url?.hostName ?? "", path: "/", error.reason))
                }
            }
            return changes
        }
    }
}

/// A URL, and the site on whose behalf the request is made.
struct CookieTarget: Sendable {
    private var url: HTTPURL
    private var site: HTTPURL?
    private var isNavigation: Bool

    /// Reads the rest of the members.
    init(rest fields: consuming JSONFields) throws(JSONComplaint) {
        let text: String? = try fields.optional("url")
        if let text: String = try fields.optional("site") { site = try HTTPURL(parameter: "site", text) }
        isNavigation = try fields.optional("navigation") ?? false
        try fields.finish()
        url = try HTTPURL(parameter: "url", try JSONFields.need("url", text))
    }

    func request(_ jar: SharedJar) throws(RPCError) -> CookieRequest {
        guard var request = CookieRequest(url, jar.suffixes) else {
            throw RPCError(.invalidParams, CookieRefusal.noHost.text, data: ["pointer": .string("/url")])
        }
        request.context = site.flatMap { CookieRequest($0, jar.suffixes)?.schemefulSite }
        request.isNavigation = isNavigation
        request.sendsLax = isNavigation
        return request
    }
}
