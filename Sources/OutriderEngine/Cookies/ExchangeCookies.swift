// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// How a request, or all requests of a session, use cookies.
package struct CookieOptions: Sendable, Equatable {
    package enum Accept: String, Sendable, CaseIterable {
        case all, none, firstParty
    }

    package var sends = true
    package var accept = Accept.all
    /// Name and value of cookies beside those of the jar, for the origin of the request only.
    package var extra: [Extra] = []
    /// The top-level site in whose name the request is made; nil for a request of its own.
    package var site: HTTPURL?
    /// With `site`: the user goes to the URL, so that Lax cookies are sent by safe methods, and all cookies are taken.
    package var isNavigation = false

    package struct Extra: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package init() {}
}

/// The cookie step of an exchange: the Cookie field of each hop, and the Set-Cookie fields of each final head.
package final class ExchangeCookies: Sendable {
    /// Nil for a request that has extra cookies only.
    private let jar: SharedJar?
    private let options: CookieOptions
    /// The URL that the caller requested.
    private let home: HTTPURL?
    private let homeSite: String?
    /// The site for SameSite decisions.
    private let context: String?

    /// - Parameter url: of the request, as the caller wrote it.
    package init(_ jar: SharedJar?, _ options: CookieOptions, url: String) {
        self.jar = jar
        self.options = options
        home = Result { () throws(HTTPFailure) in try HTTPURL(parsing: url) }.success
        if let jar {
            homeSite = home.flatMap { CookieRequest($0, jar.suffixes)?.site }
            context = options.site.flatMap { CookieRequest($0, jar.suffixes)?.schemefulSite }
        } else {
            (homeSite, context) = (nil, nil)
        }
    }

    private init(_ other: ExchangeCookies, _ jar: SharedJar) {
        self.jar = jar
        (options, home, homeSite, context) = (other.options, other.home, other.homeSite, other.context)
    }

    /// The same step with another jar in place of the present one.
    func with(_ other: (SharedJar) -> SharedJar) -> ExchangeCookies {
        guard let jar else { return self }
        let found = other(jar)
        return found === jar ? self : ExchangeCookies(self, found)
    }

    /// An attempt with its Cookie field.
    struct Applied {
        var attempt: Attempt
        var leftOut: [CookieChange] = []
        /// An identifier of the user whose cached responses the request may get: a login as another user changes the
        /// identifier, a counter of visits does not. Nil for a Cookie field that is not the jar's.
        var principal: String?
    }

    /// Nil if the jar must be read first; then `load` and call again, with `evenIfOld`.
    func apply(to attempt: Attempt, evenIfOld: Bool = false) -> Applied? {
        var pairs: [FieldText] = []
        var leftOut: [CookieChange] = []
        var principal: String?
        let own = attempt.fields.texts("Cookie")
        if !own.isEmpty {
            pairs += own
        } else if let jar, options.sends, let request = request(attempt) {
            guard let chosen = jar.choose(for: request, evenIfOld: evenIfOld) else { return nil }
            if let field = chosen.fieldText {
                pairs.append(field)
                // without such a cookie any other may be the session's
                let sessions = chosen.cookies.filter(\.isHTTPOnly)
                let told = sessions.isEmpty ? chosen.cookies : sessions
                principal = jar.principal + told.map { "\n" + $0.pair }.joined()
            }
            leftOut = chosen.leftOut.map {
                CookieChange(refused: $0.name, domain: $0.domain, path: $0.path, .fieldTooLong)
            }
        }
        if !options.extra.isEmpty, home.map({ attempt.url.isSameOrigin(as: $0) }) ?? false {
            let extra = options.extra.map { "\($0.name)=\($0.value)" }
            pairs += extra.map { FieldText($0) }
            principal = principal.map { $0 + extra.map { "\n" + $0 }.joined() }
        }
        guard !pairs.isEmpty else { return Applied(attempt: attempt, leftOut: leftOut) }
        var attempt = attempt
        attempt.fields.set(.init("Cookie", FieldText.joined(pairs, by: "; ")))
        return Applied(attempt: attempt, leftOut: leftOut, principal: principal)
    }

    /// The request with its present cookies, for display: no cookie counts as used.
    package func shown(_ attempt: Attempt) -> Attempt {
        guard attempt.fields.first("Cookie") == nil else { return attempt }
        var pairs: [String] = []
        if let jar, options.sends, let request = request(attempt) {
            var copy = jar.contents
            if let field = copy.choose(for: request, now: CookieClock.now).field { pairs.append(field) }
        }
        if home.map({ attempt.url.isSameOrigin(as: $0) }) ?? false {
            pairs += options.extra.map { "\($0.name)=\($0.value)" }
        }
        guard !pairs.isEmpty else { return attempt }
        var attempt = attempt
        attempt.fields.set("Cookie", pairs.joined(separator: "; "))
        return attempt
    }

    func load() async { await jar?.refresh() }

    /// Takes the cookies of a head. `commit` waits until they are on the disk; nil if there is no write to wait for.
    func take(_ fields: HTTPFields, from attempt: Attempt) -> (changes: [CookieChange], commit: JarCommit?)? {
        guard let jar else { return nil }
        let values = fields.texts("Set-Cookie")
        guard !values.isEmpty else { return nil }
        guard let request = request(attempt) else { return (refused(values, attempt.url, .noHost), nil) }
        switch options.accept {
        case .all: break
        case .none: return (refused(values, attempt.url, .notAccepted), nil)
        case .firstParty: if request.site != homeSite { return (refused(values, attempt.url, .thirdParty), nil) }
        }
        return jar.take(values, from: request)
    }

    private func refused(_ values: [FieldText], _ url: HTTPURL, _ reason: CookieRefusal) -> [CookieChange] {
        values.map { value in
            let name = value.text.prefix { $0 != "=" && $0 != ";" }.prefix(64)
            return CookieChange(refused: String(name), domain: url.hostName, path: "/", reason)
        }
    }

    private func request(_ attempt: Attempt) -> CookieRequest? {
        guard let jar, var request = CookieRequest(attempt.url, jar.suffixes) else { return nil }
        request.context = context
        request.isNavigation = options.isNavigation
        request.sendsLax = options.isNavigation && Invalidation.isSafe(attempt.method)
        return request
    }
}

extension Result {
    fileprivate var success: Success? {
        if case .success(let value) = self { value } else { nil }
    }
}
