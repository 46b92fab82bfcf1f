// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension CachedHead {
    /// The head of a 206 with a part of the body.
    package func partial(_ range: Range<Int>, of size: Int, at now: Int64) -> HTTPFields {
        var fields = shown(at: now)
        if range.count < size { Self.removeDigests(&fields) }
        let (first, total) = (part?.range.lowerBound ?? 0, part?.total ?? size)
        fields.set("Content-Length", String(range.count))
        fields.set("Content-Range", "bytes \(first &+ range.lowerBound)-\(first &+ range.upperBound &- 1)/\(total)")
        return fields
    }
}

/// Whether a response is stored (RFC 9111 section 3).
package enum StoreDecision: Sendable, Equatable {
    /// Under these names of Vary.
    case store([String])
    case skip(String)

    package static func decide(
        _ query: CacheQuery, status: Int, _ fields: HTTPFields, isShared: Bool, isForAll: Bool
    ) -> StoreDecision {
        if let reason = obstacle(query) { return .skip(reason) }
        let control = CacheControl(fields)
        if isForbidden(control, status: status) {
            let isUnknown = control.mustUnderstand && !control.isNoStore
            return .skip(isUnknown ? "status \(status) is not understood" : "no-store of the response")
        }
        guard status >= 200, status != 304, status != 416, !neverStored.contains(status) else {
            return .skip("status \(status)")
        }
        // another status tells of the range, not of the whole
        if query.range != nil, status != 200, status != 206 { return .skip("status \(status) for a range") }
        if status == 206, StoredPart(fields) == nil {
            return .skip("a part without its place in a body of known length, or an encoded one")
        }
        guard case .names(let names) = VaryNames(fields) else { return .skip("Vary selects no request") }
        if isShared, isForAll, fields.contains("Set-Cookie"), !control.isPublic {
            return .skip("the response sets a cookie, and the request carries no credential")
        }
        if CacheKey.text(query.url).utf8.count > CacheKey.mostBytes { return .skip("the URL is too long") }
        return worth(query, status, fields, control).map { .skip($0) } ?? .store(names)
    }

    /// About the client and not the resource; no cache may store the last four (RFC 6585 sections 3 to 6). The first two
    /// are about credentials: a token may be renewed and a challenge answered, and the next request is for the same user.
    private static let neverStored: Set<Int> = [401, 407, 428, 429, 431, 511]

    /// Whether a response says that no cache may store it (RFC 9111 sections 5.2.2.3 and 5.2.2.5).
    package static func isForbidden(_ control: CacheControl, status: Int) -> Bool {
        if control.mustUnderstand { return !isUnderstood(status) }
        return control.isNoStore
    }

    private static func obstacle(_ query: CacheQuery) -> String? {
        if query.spec.mode == .noStore { return "mode noStore" }
        if query.control.isNoStore { return "no-store of the request" }
        if query.spec.cacher == .doNotCache { return "the cacher says doNotCache" }
        if !query.mayStore { return "the request has conditions, wants several parts, or is a GET with a body" }
        if query.method != "GET", query.method != "POST" { return "method \(query.method)" }
        return nil
    }

    /// Why the response is of no use later; nil if it is.
    private static func worth(
        _ query: CacheQuery, _ status: Int, _ fields: HTTPFields, _ control: CacheControl
    ) -> String? {
        let isExplicit = control.maxAge != nil || fields.contains("Expires")
        if query.method == "POST" {
            let place = fields.first("Content-Location").flatMap { try? query.url.resolve(reference: $0) }
            guard isExplicit, place?.description == query.url.description else { return "method POST" }
            return nil
        }
        if query.spec.keep == .all, (200..<300).contains(status) { return nil }
        let hasValidator = fields.contains("ETag") || fields.contains("Last-Modified")
        let isLasting = query.spec.maxAge != nil && Freshness.isHeuristic(status)
        guard isExplicit || control.isPresent || hasValidator || isLasting else {
            return "no Cache-Control, Expires or validator"
        }
        if isExplicit || control.isPublic || control.isPrivate || Freshness.isHeuristic(status) { return nil }
        return "status \(status) without a lifetime"
    }

    /// Statuses whose meaning for caches is known (RFC 9110 section 15).
    private static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...308, 400...417, 421, 422, 426, 428, 429, 431, 451, 500...505, 511: true
        default: false
        }
    }
}

/// What a response makes invalid (RFC 9111 section 4.4, RFC 9875).
package struct Invalidation: Sendable, Equatable {
    /// Without fragments.
    package var urls: [HTTPURL] = []
    package var groups: [String] = []

    /// The method of a request that does not change anything at the server.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"].contains(method)
    }

    package init(method: String, url: HTTPURL, status: Int, _ fields: HTTPFields) {
        guard !Self.isSafe(method), (200..<400).contains(status) else { return }
        urls = [url]
        for name in ["Location", "Content-Location"] {
            guard let text = fields.first(name), let other = try? url.resolve(reference: text),
                other.isSameOrigin(as: url), !urls.contains(other)
            else { continue }
            urls.append(other)
        }
        groups = CacheGroups.names(fields.all("Cache-Group-Invalidation"), of: url)
    }
}

/// Groups of responses (RFC 9875): they become tags, each with its origin.
package enum CacheGroups {
    private static let most = 16

    /// The members of a list of strings (RFC 9651 section 3.1).
    package static func names(_ lines: [String], of url: HTTPURL) -> [String] {
        let items = lines.flatMap { CacheControlScanner.items(of: Array($0.utf8)) }
        return items.prefix(most).compactMap { item in
            let text = FieldRules.trimmed(Substring(decoding: item, as: UTF8.self))
            guard text.utf8.count > 2, text.utf8.count <= 130, text.first == "\"" else { return nil }
            let name = text.dropFirst().prefix { $0 != "\"" }
            return name.isEmpty ? nil : "\(url.origin) \(name)"
        }
    }
}
