// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Explains which cookies a request to a URL would send, which Set-Cookie fields of its response the jar would store,
/// and why not the others. Changes nothing.
struct CookiesExplain: Method {
    static let name = "cookies.explain"

    struct Params: JSONDecodable {
        var jar: JarReference
        var target: CookieTarget
        var setCookie: [String]

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            setCookie =
                try fields.optional("setCookie") { (list: [String]) in
                    list.count > 1000 ? "must not hold more than 1000" : nil
                } ?? []
            target = try CookieTarget(rest: fields)
        }
    }

    private struct StoredShape: ObjectShape {
        var cookie: Cookie
        var refusal: CookieRefusal?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("name", cookie.name)
            writer.member("domain", cookie.domain)
            writer.member("path", cookie.path)
            writer.member("sent", refusal == nil)
            writer.member("reason", refusal?.rawValue)
            writer.member("message", refusal?.text)
        }
    }

    /// The outcome of a Set-Cookie field.
    struct Received: ObjectShape {
        var changes: [CookieChange]
        var cookie: Cookie?

        func encodeMembers(to writer: inout JSONWriter) {
            let refused = changes.first { $0.kind == .refused }
            writer.member("taken", refused == nil)
            writer.member("name", refused?.name ?? cookie?.name)
            writer.member("reason", refused?.reason?.rawValue)
            writer.member("message", refused?.reason?.text)
            writer.member("domain", cookie?.domain)
            writer.member("path", cookie?.path)
            writer.member("hostOnly", cookie?.isHostOnly)
            writer.member("expiresAt", cookie?.expires.map { TimeShape(WallTime(microseconds: $0)) })
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let jar = try await params.jar.resolved(call)
        let request = try params.target.request(jar)
        let now = CookieClock.now
        var copy = jar.contents
        var sending = copy
        let leftOut = Set(sending.choose(for: request, now: now).leftOut.map(\.identity))
        let stored = copy.cookies(of: request.site).map { cookie -> (cookie: Cookie, refusal: CookieRefusal?) in
            let refusal = copy.verdict(on: cookie, for: request, now: now)
            return (cookie, refusal ?? (leftOut.contains(cookie.identity) ? .fieldTooLong : nil))
        }
        let received = params.setCookie.map { field in
            let changes = copy.take([FieldText(field)], from: request, jar.suffixes, now: now)
            let made = Swift.Result { () throws(CookieError) in
                try CookieRules.cookie(field, from: request, jar.suffixes, now: now)
            }
            return Received(changes: changes, cookie: try? made.get())
        }
        return ReplyMembers { writer in
            writer.member("host", request.host)
            writer.member("site", request.site)
            writer.member("secure", request.isSecure)
            writer.member("crossSite", request.isCrossSite)
            writer.member("stored", stored.map { StoredShape(cookie: $0.cookie, refusal: $0.refusal) })
            writer.member("received", received)
        }
    }
}
