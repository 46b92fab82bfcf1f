// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What is to be done for a request.
package enum CacheVerdict: Sendable, Equatable {
    /// The stored response is the response.
    case use(CacheUse)
    /// The stored response is the response, and is revalidated afterwards.
    case useAndRefresh(CacheUse)
    /// The request goes out with these fields added; a 304 makes the stored response the response.
    case revalidate(HTTPFields, CacheForward, String)
    case fetch(CacheForward, String)
    /// There is no response.
    case refuse(String, isDirective: Bool)

    /// How a stored response is used.
    package struct CacheUse: Sendable, Equatable {
        package var isStale: Bool
        package var reason: String
        /// Nil for the whole body.
        package var range: Range<Int>?

        package init(isStale: Bool, _ reason: String, range: Range<Int>? = nil) {
            self.isStale = isStale
            self.reason = reason
            self.range = range
        }
    }
}

/// Decides between a stored response and the server (RFC 9111 section 4).
package enum CachePolicy {
    /// - Parameters:
    ///   - head: of the response that Vary selects; nil without one.
    ///   - size: the bytes of its body.
    ///   - hasVariants: whether responses for other values of Vary are stored.
    ///   - now: milliseconds since 1970.
    package static func decide(
        _ query: CacheQuery, _ head: CachedHead?, size: Int, hasVariants: Bool, now: Int64
    ) -> CacheVerdict {
        if let reason = query.bypass { return .fetch(query.bypassForward, reason) }
        if query.spec.mode == .reload {
            let reason = "mode reload"
            return query.control.onlyIfCached ? .refuse(reason, isDirective: true) : .fetch(.request, reason)
        }
        guard let head else {
            let reason = hasVariants ? "other values of the fields that Vary names" : "no response was stored"
            return missing(query, hasVariants ? .varyMiss : .uriMiss, reason)
        }
        var part: Range<Int>?
        if query.range == nil, head.status == 206 { return missing(query, .partial, "only a part is stored") }
        if let range = query.range {
            guard let found = self.part(range, of: head, size, query) else {
                return missing(query, .partial, "the stored response cannot supply the range")
            }
            part = found
        }
        return decide(query, head, part, now)
    }

    private static func missing(_ query: CacheQuery, _ forward: CacheForward, _ reason: String) -> CacheVerdict {
        if query.spec.mode == .onlyIfCached { return .refuse(reason, isDirective: false) }
        if query.control.onlyIfCached { return .refuse(reason, isDirective: true) }
        return .fetch(forward, reason)
    }

    private static func part(_ range: ByteRange, of head: CachedHead, _ size: Int, _ query: CacheQuery) -> Range<Int>? {
        guard head.status == 200 || head.part != nil, !head.fields.contains("Content-Encoding") else { return nil }
        if let condition = query.fields.first("If-Range") {
            guard condition == head.etag, condition.hasPrefix("\"") else { return nil }
        }
        if let part = head.part { return part.range.count == size ? part.place(of: range) : nil }
        return range.bytes(of: size)
    }

    private static func decide(
        _ query: CacheQuery, _ head: CachedHead, _ part: Range<Int>?, _ now: Int64
    ) -> CacheVerdict {
        let isFresh = head.isFresh(at: now)
        func use(_ reason: String) -> CacheVerdict { .use(.init(isStale: !isFresh, reason, range: part)) }
        if isRefused(head, query) { return ask(query, head, .request, "retry") }
        switch query.spec.mode {
        case .forceCache, .onlyIfCached: return use("mode \(query.spec.mode.rawValue)")
        case .noCache where isFresh && head.freshness.control.isImmutable: return use("fresh and immutable")
        case .noCache: return ask(query, head, .request, "mode noCache")
        default: break
        }
        if let wish = wish(of: query.control, about: head, now) { return ask(query, head, .request, wish) }
        if head.needsNoServer(at: now) { return use("fresh") }
        let mayBeStale = head.freshness.mayBeStale && !head.isOutdated
        let staleness = head.freshness.staleness(at: now)
        if mayBeStale, staleness < milliseconds(query.control.maxStale) { return use("max-stale of the request") }
        if mayBeStale, staleness < milliseconds(head.freshness.control.staleWhileRevalidate),
            !query.control.onlyIfCached
        {
            return .useAndRefresh(.init(isStale: true, "stale-while-revalidate", range: part))
        }
        return ask(query, head, .stale, head.freshness.control.isNoCache ? "no-cache of the response" : "stale")
    }

    /// Whether the request is a retry after the stored response, or a later one, and may go to the server.
    private static func isRefused(_ head: CachedHead, _ query: CacheQuery) -> Bool {
        guard let refused = query.spec.refusedAt, query.spec.mode != .onlyIfCached else { return false }
        return head.respondedAt <= refused && !query.control.onlyIfCached
    }

    /// Why the request itself does not accept the response; nil if it does (RFC 9111 section 5.2.1).
    private static func wish(of control: CacheControl, about head: CachedHead, _ now: Int64) -> String? {
        if control.isNoCache { return "no-cache of the request" }
        let acceptsStale = control.maxStale != nil && !head.isFresh(at: now)
        if let most = control.maxAge, !acceptsStale, head.freshness.age(at: now) >= most {
            return "max-age of the request"
        }
        if let least = control.minFresh, head.freshness.timeToLive(at: now) < least {
            return "min-fresh of the request"
        }
        return nil
    }

    private static func ask(
        _ query: CacheQuery, _ head: CachedHead, _ forward: CacheForward, _ reason: String
    ) -> CacheVerdict {
        if query.control.onlyIfCached { return .refuse(reason, isDirective: true) }
        guard head.hasValidator, query.method == "GET", query.range == nil else { return .fetch(forward, reason) }
        return .revalidate(head.conditions, forward, reason)
    }

    /// Whether a stored response stands in for a failure, or for a status that says so (RFC 5861 section 4).
    package static func rescues(_ query: CacheQuery, _ head: CachedHead, status: Int?, now: Int64) -> Bool {
        if let status { guard [500, 502, 503, 504].contains(status) else { return false } }
        guard head.freshness.mayBeStale, !head.isOutdated, !query.control.isNoCache, query.spec.mode != .noCache,
            query.spec.mode != .reload
        else { return false }
        let allowed = [
            head.freshness.control.staleIfError, query.control.staleIfError, query.spec.staleIfError,
        ].compactMap { $0 }.max()
        return head.freshness.staleness(at: now) < milliseconds(allowed)
    }

    /// Whether a response in place of a 304 says that the stored response is not suitable any more (RFC 9111 section
    /// 4.3.3). A failed server, and a refusal because of the moment, the connection or the proxy, say nothing of it.
    package static func isAboutResource(_ status: Int) -> Bool {
        status < 500 && ![407, 408, 421, 425, 429].contains(status)
    }

    private static func milliseconds(_ seconds: Int64?) -> Int64 {
        guard let seconds else { return .min }
        return seconds > CacheControlScanner.mostSeconds ? .max : seconds &* 1000
    }
}
