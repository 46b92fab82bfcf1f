// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The jar that a method names: a session's jar, or a named jar.
enum JarReference: Sendable {
    case session(SessionReference)
    case named(String)
    case ambiguous

    /// Reads `session` and `jar`. The default is the default session, which keeps no cookies.
    static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> JarReference {
        let session: SessionReference? = try fields.optional("session")
        let name: String? = try fields.optional("jar") { CookieJars.fault(ofName: $0) }
        switch (session, name) {
        case (let session?, nil): return .session(session)
        case (nil, let name?): return .named(name)
        case (nil, nil): return .session(try SessionReference(json: .string(SessionReference.defaultName)))
        case (_?, _?): return .ambiguous
        }
    }

    /// The current jar. Throws `unknownHandle`, `wrongState` for a session without cookies or an unusable jar, and
    /// `notPermitted` for a named jar of another user.
    ///
    /// - Parameter makes: makes a named jar that does not exist; else an empty jar stands for it.
    func resolved(_ call: Call<ClientScope>, makes: Bool = false) async throws(RPCError) -> SharedJar {
        switch self {
        case .named(let name):
            let jar = try await SharedJar.named(name, call, at: "/jar", makes: makes)
            // a jar that does not exist ends with the call
            return jar.storeState == nil ? jar : call.scope.staged(jar, of: nil)
        case .ambiguous:
            throw RPCError(
                .wrongState, "session and jar name one jar each: give one of them",
                data: ["pointer": .string("/jar"), "state": .string("ambiguous")])
        case .session(let reference):
            let record = try reference.resolved(call.scope)
            guard let jar = record?.settings.cookies?.jar else {
                throw RPCError(
                    .wrongState,
                    "the session keeps no cookies: make one with session.create {cookies: true}, or name a jar",
                    data: ["pointer": .string("/session"), "state": .string("noCookies")])
            }
            await jar.refresh()
            return call.scope.staged(jar, of: record)
        }
    }
}

extension SharedJar {
    /// - Parameter pointer: the parameter that names the jar.
    static func named(
        _ name: String, _ call: Call<ClientScope>, at pointer: String, isSealed: Bool = false, makes: Bool = true
    ) async throws(RPCError) -> SharedJar {
        if call.peer.info.isOtherUser {
            throw RPCError(
                .notPermitted, "named jars belong to the user of the service: use cookies: true, a jar of the session",
                data: ["pointer": .string(pointer)])
        }
        do throws(JarFailure) {
            let jar = try await call.scope.service.engine.jars.named(name, isSealed: isSealed, makes: makes)
            await jar.refresh()
            return jar
        } catch {
            throw RPCError(
                .wrongState, error.message,
                data: ["pointer": .string(pointer), "state": .string(error.reason.rawValue)])
        }
    }

    /// Changes the jar, and waits until the change is synced to disk.
    func changed(_ work: (inout CookieJar) -> [CookieChange]) async -> [CookieChange] {
        let (changes, commit) = change(work)
        await commit?.value()
        return changes
    }

    /// The cookies of a change that takes a loop a few milliseconds at most.
    private static let mostOnLoop = 100

    /// The same for so many cookies.
    func changed(
        by count: Int, _ work: @escaping @Sendable (inout CookieJar) -> [CookieChange]
    ) async -> [CookieChange] {
        guard count > Self.mostOnLoop else { return await changed(work) }
        let (changes, commit) = await background { self.change(work) }
        await commit?.value()
        return changes
    }
}

/// The cookies of a jar that a method names; without members all cookies.
struct CookieFilter: Sendable {
    var url: HTTPURL?
    var domain: String?
    var name: String?
    var path: String?

    /// - Parameter hasName: whether the method takes `name`.
    init(_ fields: inout JSONFields, hasName: Bool = true) throws(JSONComplaint) {
        if let text: String = try fields.optional("url") { url = try HTTPURL(parameter: "url", text) }
        if let text: String = try fields.optional("domain") {
            let plain = text.hasPrefix(".") ? String(text.dropFirst()) : text
            guard let host = NetscapeCookies.canonicalHost(plain) else {
                throw JSONComplaint("domain must be a host name", at: JSONPointer(member: "domain"))
            }
            domain = host
        }
        if hasName { name = try fields.optional("name") }
        path = try fields.optional("path")
    }

    /// Matches cookies that requests to the URL would send, of the domain and its subdomains, of that name, and of that
    /// path.
    func condition(_ jar: SharedJar) -> (Cookie) -> Bool {
        let request = url.flatMap { CookieRequest($0, jar.suffixes) }
        let now = CookieClock.now
        let copy = jar.contents
        return { cookie in
            if url != nil {
                guard let request, copy.verdict(on: cookie, for: request, now: now) == nil else { return false }
            }
            if let domain, cookie.domain != domain, !cookie.domain.hasSuffix("." + domain) { return false }
            if let name, !cookie.name.utf8.elementsEqual(name.utf8) { return false }
            return path.map { $0 == cookie.path } ?? true
        }
    }

    func cookies(_ jar: SharedJar) -> [Cookie] {
        let condition = condition(jar)
        let now = CookieClock.now
        return jar.contents.all.filter { !$0.isExpired(at: now) && condition($0) }
    }
}

/// A CookieSpec of the contract: a cookie for a jar.
struct CookieParameter: JSONDecodable, Sendable {
    private var cookie: Cookie
    private var hasDomain: Bool

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let name: String? = try fields.optional("name")
        let value: String? = try fields.optional("value")
        let domain: String? = try fields.optional("domain")
        cookie = Cookie(name: name ?? "", value: value ?? "", domain: "")
        hasDomain = domain != nil
        if let domain {
            let plain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
            guard let host = NetscapeCookies.canonicalHost(plain) else {
                throw JSONComplaint("domain must be a host name", at: JSONPointer(member: "domain"))
            }
            cookie.domain = host
            cookie.isHostOnly = try fields.optional("hostOnly") ?? !domain.hasPrefix(".")
            if NetscapeCookies.isAddress(host) { cookie.isHostOnly = true }
        } else {
            cookie.isHostOnly = try fields.optional("hostOnly") ?? true
        }
        cookie.path = try fields.optional("path") ?? "/"
        cookie.isSecure = try fields.optional("secure") ?? false
        cookie.isHTTPOnly = try fields.optional("httpOnly") ?? false
        cookie.sameSite = try fields.choice("sameSite")
        cookie.partition = try fields.optional("partition")
        cookie.expires = try fields.optional("expiresAt", as: CookieMoment.self)?.microseconds
        // of an exported cookie
        let created = try fields.optional("createdAt", as: CookieMoment.self)?.microseconds
        try fields.finish()
        _ = (try JSONFields.need("name", name), try JSONFields.need("value", value))
        if let created { cookie.created = created }
    }

    /// The cookie, as if set now. Throws the rule that the cookie breaks.
    ///
    /// - Parameter url: gives a cookie without a domain its host.
    func made(
        for url: HTTPURL?, _ suffixes: PublicSuffixes, now: Int64
    ) throws(CookieError) -> Cookie {
        var cookie = cookie
        if !hasDomain {
            guard let url, let request = CookieRequest(url, suffixes) else {
                throw CookieError(.noHost, name: cookie.name)
            }
            cookie.domain = request.host
            // an address has no hosts below it
            if request.isAddress { cookie.isHostOnly = true }
        }
        try CookieRules.check(cookie, suffixes)
        cookie.expires = cookie.expires.map { Cookie.capped($0, now: now) }
        if cookie.created == 0 || cookie.created > now { cookie.created = now }
        cookie.used = now
        return cookie
    }
}

/// A time of RFC 3339.
private struct CookieMoment: JSONDecodable {
    var microseconds: Int64

    init(json: JSONValue) throws(JSONComplaint) {
        guard let moment = Moment(try String(json: json)) else {
            throw JSONComplaint("must be a time of RFC 3339, such as 2030-01-02T03:04:05Z")
        }
        microseconds = moment.seconds &* Cookie.second &+ moment.nanoseconds / 1000
    }
}
