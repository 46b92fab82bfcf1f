// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a cache knows of a request before it looks for responses.
package struct CacheQuery: Sendable {
    package let method: String
    package let url: HTTPURL
    package let fields: HTTPFields
    package let control: CacheControl
    package let spec: CacheSpec
    /// The range that the request wants; nil for all.
    package let range: ByteRange?
    /// The caller has conditions of its own.
    package let isConditional: Bool
    /// The request has a body, which the key of the cache does not name.
    package let hasBody: Bool
    private let hasOtherRange: Bool

    package init(_ attempt: Attempt, _ spec: CacheSpec) {
        (method, url, fields) = (attempt.method, attempt.url, attempt.fields)
        self.spec = spec
        hasBody = attempt.body != .none
        if attempt.fields.list.allSatisfy({ CacheQuery.isNeutral($0.name) }) {
            (control, range, hasOtherRange, isConditional) = (CacheControl(), nil, false, false)
            return
        }
        var control = CacheControl(attempt.fields)
        if !control.isPresent, attempt.fields.all("Pragma").contains(where: { $0.lowercased().contains("no-cache") }) {
            control.isNoCache = true
        }
        self.control = control
        let lines = attempt.fields.all("Range")
        range = lines.count == 1 && method == "GET" ? ByteRange(parsing: lines[0]) : nil
        hasOtherRange = !lines.isEmpty && range == nil
        isConditional = Self.conditions.contains { attempt.fields.contains($0) }
    }

    /// Whether a field of that name, spelled as the service and most clients do, means nothing to a cache. False is always
    /// right.
    static func isNeutral(_ name: String) -> Bool {
        // names that a String holds without a buffer: compared at once, if they are as long
        switch name.utf8.count {
        case 6: name == "Accept"
        case 10: name == "User-Agent"
        case 15: name == "Accept-Encoding" || name == "Accept-Language"
        default: false
        }
    }

    private static let conditions = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]

    /// Whether a stored response may be the response: what is left then is to find one.
    package var mayUse: Bool { bypass == nil && spec.mode != .reload }

    /// Whether a response to this request may be stored, as far as the request says. The response to a GET with a body
    /// is about that body, and requests without the body must not get the response.
    package var mayStore: Bool {
        spec.mode != .noStore && !control.isNoStore && spec.cacher != .doNotCache && !isConditional && !hasOtherRange
            && !(hasBody && method == "GET")
    }

    /// Whether requests like this one may share one exchange.
    package var collapses: Bool {
        method == "GET" && bypass == nil && range == nil && mayStore && spec.collapse != nil
            && (spec.mode == .default || spec.mode == .forceCache)
    }

    /// Whether the response to this request, which is under way, may serve the other request too: this request has asked
    /// the caches for all that the other asks, and both accept the same stale responses.
    package func stands(in other: CacheQuery) -> Bool {
        guard spec.staleIfError == other.spec.staleIfError else { return false }
        if control == other.control { return true }
        return other.control == CacheControl() && control.maxStale == nil && control.staleIfError == nil
    }

    /// Why no stored response is looked for; nil if one is.
    package var bypass: String? {
        if spec.mode == .noStore { return "mode noStore" }
        if method != "GET" && method != "HEAD" { return "method \(method)" }
        if hasBody { return "the request has a body" }
        if isConditional { return "conditions of the caller" }
        if hasOtherRange { return "several ranges, or a range of another unit" }
        return nil
    }

    /// Why the response was not taken from the cache, in the words of RFC 9211 section 2.2.
    package var bypassForward: CacheForward { method == "GET" || method == "HEAD" ? .bypass : .method }
}

extension Attempt {
    /// The request with a directive by which caches on the way ask the origin as well, unless the caller has directives of
    /// its own (as `no-cache` of the Fetch standard, section 4.5).
    package var askingOrigin: Attempt {
        guard !fields.contains("Cache-Control") else { return self }
        var attempt = self
        attempt.fields.add("Cache-Control", "max-age=0")
        return attempt
    }
}

/// Why a request went to the server (`fwd` of RFC 9211 section 2.2).
package enum CacheForward: String, Sendable {
    case bypass, method, miss, request, stale, partial
    case uriMiss = "uri-miss"
    case varyMiss = "vary-miss"
}
