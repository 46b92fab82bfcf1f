// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Which cookies may be stored (RFC 6265bis section 5.7, steps 1 to 22).
package enum CookieRules {
    /// The cookie that the field sets for this request. Throws the reason why none is set.
    ///
    /// - Parameters:
    ///   - isLatin1: the bytes of the field are ISO 8859-1: see `FieldText`.
    ///   - now: microseconds since 1970.
    package static func cookie(
        _ field: String, isLatin1: Bool = false, from request: CookieRequest, _ suffixes: PublicSuffixes, now: Int64
    ) throws(CookieError) -> Cookie {
        let set = try SetCookieScanner.scan(field, isLatin1: isLatin1)
        do throws(CookieError) {
            var cookie = try cookie(set, from: request, suffixes, now: now)
            cookie.isLatin1 = isLatin1
            return cookie
        } catch {
            throw CookieError(error.reason, name: SetCookieScanner.shown(set.name))
        }
    }

    private static func cookie(
        _ set: SetCookie, from request: CookieRequest, _ suffixes: PublicSuffixes, now: Int64
    ) throws(CookieError) -> Cookie {
        var cookie = Cookie(name: set.name, value: set.value, domain: request.host)
        if let domain = set.domain {
            cookie.isHostOnly = try isHostOnly(domain, request, suffixes)
            cookie.domain = domain
        }
        cookie.path = set.path ?? request.defaultPath
        cookie.isSecure = set.isSecure
        cookie.isHTTPOnly = set.isHTTPOnly
        cookie.sameSite = set.sameSite
        if set.isPartitioned { cookie.partition = request.context ?? "" }
        cookie.expires = set.end(now: now)
        (cookie.created, cookie.used) = (now, now)
        if cookie.isSecure, !request.isSecure { throw CookieError(.secureOverHTTP) }
        try checkAttributes(cookie)
        if prefix(of: cookie.name)?.isHost == true, set.path != "/" || set.domain != nil { throw CookieError(.prefix) }
        // step 18: a navigation may set cookies of any SameSite
        if request.isCrossSite, !request.isNavigation, set.sameSite != Cookie.SameSite.none {
            throw CookieError(.crossSite)
        }
        return cookie
    }

    /// Whether a permitted Domain makes a host-only cookie. Throws if the request may not set this Domain.
    private static func isHostOnly(
        _ domain: String, _ request: CookieRequest, _ suffixes: PublicSuffixes
    ) throws(CookieError) -> Bool {
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw CookieError(.domainNotASCII) }
        if domain == request.host {
            return request.isAddress || suffixes.registrableDomain(of: domain) == nil
        }
        guard request.lies(in: domain) else { throw CookieError(.domainMismatch) }
        guard let registrable = suffixes.registrableDomain(of: request.host),
            domain == registrable || CookieRequest.isBelow(domain, registrable)
        else { throw CookieError(.publicSuffix) }
        return false
    }

    /// Checks the rules for cookies from any source: response, file or call. Throws the violated rule.
    package static func check(_ cookie: Cookie, _ suffixes: PublicSuffixes) throws(CookieError) {
        guard !cookie.name.isEmpty else { throw CookieError(.noName) }
        let name = SetCookieScanner.shown(cookie.name)
        let texts = [cookie.name, cookie.value, cookie.path, cookie.domain]
        guard texts.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }),
            !cookie.name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }),
            !cookie.value.utf8.contains(UInt8(ascii: ";"))
        else { throw CookieError(.controlCharacter, name: name) }
        guard cookie.size <= Cookie.mostBytes, cookie.path.utf8.count <= 1024
        else { throw CookieError(.tooLarge, name: name) }
        guard cookie.domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw CookieError(.domainNotASCII, name: name) }
        guard cookie.path.utf8.first == UInt8(ascii: "/") else { throw CookieError(.badPath, name: name) }
        if !cookie.isHostOnly, suffixes.registrableDomain(of: cookie.domain) == nil {
            throw CookieError(.publicSuffix, name: name)
        }
        do throws(CookieError) {
            try checkAttributes(cookie)
        } catch {
            throw CookieError(error.reason, name: name)
        }
    }

    private static func checkAttributes(_ cookie: Cookie) throws(CookieError) {
        if cookie.sameSite == Cookie.SameSite.none, !cookie.isSecure { throw CookieError(.sameSiteNoneNeedsSecure) }
        if cookie.partition != nil, !cookie.isSecure { throw CookieError(.partitionedNeedsSecure) }
        guard let prefix = prefix(of: cookie.name) else { return }
        let isHostBound = cookie.isHostOnly && cookie.path == "/"
        guard cookie.isSecure, !prefix.isHost || isHostBound, !prefix.isHTTP || cookie.isHTTPOnly else {
            throw CookieError(.prefix)
        }
    }

    /// The requirements of a name's prefix besides Secure; nil for a name without a prefix.
    private static func prefix(of name: String) -> (isHost: Bool, isHTTP: Bool)? {
        // bytes: a character may join the last one of the prefix
        func begins(with prefix: String) -> Bool {
            HTTPFields.same(String(decoding: name.utf8.prefix(prefix.utf8.count), as: UTF8.self), prefix)
        }
        guard name.utf8.starts(with: "__".utf8) else { return nil }
        if begins(with: "__Host-Http-") { return (true, true) }
        if begins(with: "__Host-") { return (true, false) }
        if begins(with: "__Http-") { return (false, true) }
        return begins(with: "__Secure-") ? (false, false) : nil
    }
}
