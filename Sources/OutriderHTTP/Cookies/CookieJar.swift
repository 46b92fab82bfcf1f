// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Cookies by site (RFC 6265bis section 5.7 and 5.8). A value: time is an argument, changes are results.
///
/// Responsible for: replacement, deletion and eviction; the cookies for a URL, and their order.
/// Not responsible for: the rules of Set-Cookie (`CookieRules`); files; notifications.
package struct CookieJar: Sendable {
    /// Most cookies of a registrable domain, or of a host without a registrable domain.
    package static let mostOfSite = 180
    package static let mostInAll = 3000
    /// Bytes of all cookies: names, values, domains and paths.
    package static let mostBytes = 4 << 20
    /// The longest Cookie field, in bytes.
    package static let mostFieldBytes = 32 << 10

    /// Each site in the order of sending: the longest path first, then the oldest cookie.
    private var sites: [String: [Cookie]] = [:]
    package private(set) var count = 0
    package private(set) var bytes = 0
    /// The last creation time: the cookies of a response get distinct times.
    private var lastTime: Int64 = 0

    package init() {}

    /// The cookies for a request, and those beyond the limit of its field.
    package struct Chosen: Sendable, Equatable {
        package var cookies: [Cookie] = []
        package var leftOut: [Cookie] = []
        /// Cookies whose last use now falls into another hour.
        package var touched: [Cookie.Identity] = []

        /// The value of the Cookie field, for display; nil without cookies.
        package var field: String? {
            cookies.isEmpty ? nil : cookies.map(\.pair).joined(separator: "; ")
        }

        /// The value of the Cookie field, with the bytes that servers sent; nil without cookies.
        package var fieldText: FieldText? {
            cookies.isEmpty ? nil : FieldText.joined(cookies.map(\.pairText), by: "; ")
        }
    }

    // MARK: taking

    /// Takes the Set-Cookie fields of a response, in order.
    ///
    /// - Parameter now: microseconds since 1970.
    package mutating func take(
        _ fields: [FieldText], from request: CookieRequest, _ suffixes: PublicSuffixes, now: Int64
    ) -> [CookieChange] {
        var changes: [CookieChange] = []
        for field in fields {
            do throws(CookieError) {
                let cookie = try CookieRules.cookie(
                    field.text, isLatin1: field.isLatin1, from: request, suffixes, now: tick(now))
                if !request.isSecure, !cookie.isSecure, overlaysSecure(cookie, site: request.site, now) {
                    throw CookieError(.overlaysSecure, name: SetCookieScanner.shown(cookie.name))
                }
                changes += put(cookie, site: request.site, now: now)
            } catch {
                changes.append(
                    CookieChange(refused: error.name, domain: request.host, path: request.path, error.reason))
            }
        }
        return changes
    }

    /// Stores a cookie; an expired cookie removes the cookie that it would replace.
    ///
    /// - Parameter site: the registrable domain of the cookie's domain, or that domain.
    package mutating func put(_ cookie: Cookie, site: String, now: Int64) -> [CookieChange] {
        var cookie = cookie
        var old = remove(cookie.identity, site: site)
        if cookie.isExpired(at: now) { return old.map { [CookieChange(.deleted, $0)] } ?? [] }
        // an expired cookie counts as absent: only memory still holds it
        if old?.isExpired(at: now) == true { old = nil }
        if let old { cookie.created = old.created }
        insert(cookie, site: site)
        return [CookieChange(old == nil ? .added : .replaced, cookie)] + evict(site: site, now: now)
    }

    /// Adds a cookie from a store: without replacement rules or eviction. The stores of several processes may hold a
    /// little more than the limits; beyond twice that, cookies are left out.
    package mutating func restore(_ cookie: Cookie, site: String) {
        _ = remove(cookie.identity, site: site)
        guard count < 2 * Self.mostInAll, bytes < 2 * Self.mostBytes else { return }
        insert(cookie, site: site)
    }

    @discardableResult
    package mutating func remove(_ identity: Cookie.Identity, site: String) -> Cookie? {
        guard let index = sites[site]?.firstIndex(where: { $0.identity == identity }) else { return nil }
        return remove(at: index, site: site)
    }

    /// A time that no cookie of this jar has yet.
    private mutating func tick(_ now: Int64) -> Int64 {
        lastTime = max(now, lastTime &+ 1)
        return lastTime
    }

    private mutating func insert(_ cookie: Cookie, site: String) {
        let length = cookie.path.utf8.count
        let place =
            sites[site]?.firstIndex { other in
                let otherLength = other.path.utf8.count
                return otherLength < length || otherLength == length && other.created > cookie.created
            }
        sites[site, default: []].insert(cookie, at: place ?? sites[site]?.count ?? 0)
        lastTime = max(lastTime, cookie.created)
        count += 1
        bytes += Self.bytes(of: cookie)
    }

    private static func bytes(of cookie: Cookie) -> Int {
        cookie.size + cookie.domain.utf8.count + cookie.path.utf8.count
    }

    private mutating func remove(at index: Int, site: String) -> Cookie? {
        count -= 1
        let cookie = sites[site]?.remove(at: index)
        if let cookie { bytes -= Self.bytes(of: cookie) }
        if sites[site]?.isEmpty == true { sites[site] = nil }
        return cookie
    }

    /// Step 16 of section 5.7: the domain may match in either direction, the path only in one.
    private func overlaysSecure(_ cookie: Cookie, site: String, _ now: Int64) -> Bool {
        (sites[site] ?? []).contains { other in
            other.isSecure && !other.isExpired(at: now) && other.name.utf8.elementsEqual(cookie.name.utf8)
                && CookieRequest.leads(cookie.path, through: other.path)
                && (other.domain == cookie.domain || CookieRequest.isBelow(other.domain, cookie.domain)
                    || CookieRequest.isBelow(cookie.domain, other.domain))
        }
    }

    // MARK: limits

    /// Removes exactly the excess: expired cookies first, then those that are not Secure, then the longest unused.
    private mutating func evict(site: String, now: Int64) -> [CookieChange] {
        var changes: [CookieChange] = []
        if let cookies = sites[site], cookies.count > Self.mostOfSite {
            changes += removeAll(.expired, site: site) { $0.isExpired(at: now) }
            while let cookies = sites[site], cookies.count > Self.mostOfSite,
                let index = Self.victim(among: cookies, whereNot: \.isSecure) ?? Self.victim(among: cookies)
            {
                changes += remove(at: index, site: site).map { [CookieChange(.evicted, $0)] } ?? []
            }
        }
        return changes + shrink(to: Self.mostBytes, now: now)
    }

    /// The same until the cookies have no more than so many bytes.
    package mutating func shrink(to most: Int, now: Int64) -> [CookieChange] {
        guard isFull(most) else { return [] }
        var changes = purge(now: now)
        while isFull(most), let (site, index) = longestUnused() {
            changes += remove(at: index, site: site).map { [CookieChange(.evicted, $0)] } ?? []
        }
        return changes
    }

    private func isFull(_ most: Int) -> Bool { count > Self.mostInAll || bytes > most }

    /// The longest unused of the cookies that lack something, or of all.
    private static func victim(among cookies: [Cookie], whereNot quality: KeyPath<Cookie, Bool>? = nil) -> Int? {
        var found: Int?
        for index in cookies.indices {
            if let quality, cookies[index][keyPath: quality] { continue }
            guard let best = found else {
                found = index
                continue
            }
            // without copies of the cookies, which are dear
            let (used, least) = (cookies[index].used, cookies[best].used)
            if used < least || used == least && cookies[index].created < cookies[best].created { found = index }
        }
        return found
    }

    private func longestUnused() -> (site: String, index: Int)? {
        var found: (site: String, index: Int)?
        var least = Int64.max
        for (site, cookies) in sites {
            for index in cookies.indices where cookies[index].used < least {
                (found, least) = ((site, index), cookies[index].used)
            }
        }
        return found
    }

    /// Removes expired cookies.
    package mutating func purge(now: Int64) -> [CookieChange] { removeAll(.expired) { $0.isExpired(at: now) } }

    /// Removes every cookie that the condition names.
    package mutating func removeAll(
        _ kind: CookieChange.Kind = .deleted, where condition: (Cookie) -> Bool
    ) -> [CookieChange] {
        let found = sites.filter { $0.value.contains(where: condition) }
        return found.keys.sorted().flatMap { removeAll(kind, site: $0, where: condition) }
    }

    private mutating func removeAll(
        _ kind: CookieChange.Kind, site: String, where condition: (Cookie) -> Bool
    ) -> [CookieChange] {
        let gone = (sites[site] ?? []).filter(condition)
        guard !gone.isEmpty else { return [] }
        sites[site]?.removeAll(where: condition)
        if sites[site]?.isEmpty == true { sites[site] = nil }
        count -= gone.count
        for cookie in gone { bytes -= Self.bytes(of: cookie) }
        return gone.map { CookieChange(kind, $0) }
    }

    // MARK: sending

    /// The cookies for a request, in the order of the Cookie field; their last use is now.
    package mutating func choose(for request: CookieRequest, now: Int64) -> Chosen {
        let (chosen, places) = chosen(for: request, now: now)
        // in place: the array has a single owner here
        for index in places { sites[request.site]?[index].used = now }
        return chosen
    }

    private func chosen(for request: CookieRequest, now: Int64) -> (Chosen, places: [Int]) {
        var chosen = Chosen()
        var places: [Int] = []
        guard let cookies = sites[request.site] else { return (chosen, places) }
        var bytes = 0
        for index in cookies.indices where verdict(on: cookies[index], for: request, now: now) == nil {
            let cookie = cookies[index]
            let length = cookie.size + 1 + (bytes > 0 ? 2 : 0)
            // from the end: after the first cookie without room, no later cookie goes either
            guard chosen.leftOut.isEmpty, bytes + length <= Self.mostFieldBytes else {
                chosen.leftOut.append(cookie)
                continue
            }
            bytes += length
            if cookie.used / Self.hour != now / Self.hour { chosen.touched.append(cookie.identity) }
            chosen.cookies.append(cookie)
            places.append(index)
        }
        return (chosen, places)
    }

    package static let hour = 3600 * Cookie.second

    /// Why the cookie is not sent with the request; nil if sent.
    package func verdict(on cookie: Cookie, for request: CookieRequest, now: Int64) -> CookieRefusal? {
        if cookie.isHostOnly ? cookie.domain != request.host : !request.lies(in: cookie.domain) { return .otherHost }
        if !request.leads(through: cookie.path) { return .otherPath }
        if cookie.isSecure, !request.isSecure { return .needsSecure }
        if cookie.isExpired(at: now) { return .expired }
        if let partition = cookie.partition, partition != request.context ?? "" { return .otherPartition }
        guard request.isCrossSite, cookie.sameSite != Cookie.SameSite.none else { return nil }
        return request.sendsLax && cookie.sameSite != .strict ? nil : .crossSite
    }

    // MARK: looking

    /// All cookies: by site, then in the order of sending.
    package var all: [Cookie] { sites.keys.sorted().flatMap { sites[$0] ?? [] } }

    /// The cookies of a site, in the order of sending.
    package func cookies(of site: String) -> [Cookie] { sites[site] ?? [] }

    package func cookie(_ identity: Cookie.Identity, site: String) -> Cookie? {
        sites[site]?.first { $0.identity == identity }
    }
}
