// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether a redirect is followed, and with which fields and body (RFC 9110 section 15.4, and the fetch standard where
/// the RFC leaves a choice).
///
/// To another origin (scheme, host, port, or socket), only these fields are sent: those that negotiate content, those
/// that describe the body, and those that the caller marked. A dropped field never comes back.
package struct RedirectPolicy: Sendable, Equatable {
    /// Whether redirects are followed; otherwise the redirect is the final response.
    package var follows = true
    /// Most redirects of an attempt. Default: 20, as in the fetch standard.
    package var limit = 20
    /// Names of fields that go along to another origin.
    package var keepHeaders: [String] = []
    /// Whether a body is sent to another origin if the redirect keeps method and body.
    package var keepsBody = false
    /// The client's callback for each redirect.
    package var callback: String?

    package static var follow: RedirectPolicy { RedirectPolicy() }

    package static var none: RedirectPolicy {
        var policy = RedirectPolicy()
        policy.follows = false
        return policy
    }

    /// Whether the status is a redirect.
    package static func redirects(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The attempt at the redirect's target, and the hop; nil if the response is no redirect.
    ///
    /// Throws `tooManyRedirects`, `redirectRefused`, `unsupportedScheme`, or `bodyUnreadable` for a body that cannot be
    /// sent twice.
    ///
    /// - Parameters:
    ///   - hops: number of redirects so far.
    ///   - strict: changes URLs of hosts with strict transport security (HSTS).
    package func next(
        after status: Int, _ fields: HTTPFields, to attempt: Attempt, hops: Int, strict: (any StrictTransport)? = nil
    ) throws(HTTPFailure) -> (attempt: Attempt, hop: RedirectHop)? {
        guard follows, Self.redirects(status), let location = try Self.location(fields) else { return nil }
        guard hops < limit else { throw Self.tooMany(limit, attempt.url) }
        let (target, isStrict) = try Self.target(location, of: attempt, strict)
        var next = attempt
        next.url = target
        if next.strictFrom != nil { next.strictFrom = nil }
        let guarded = attempt.addresses.guarded
        if guarded != attempt.addresses, !target.isSameOrigin(as: attempt.url) { next.addresses = guarded }
        Self.changeMethod(of: &next, for: status)
        guard next.body.isReplayable else {
            throw HTTPFailure(
                .bodyUnreadable,
                "the redirect wants the body again, which cannot be sent twice (send a new stream to the new URL, or"
                    + " give the body as text, base64 or file)", sent: .sent)
        }
        let dropped = target.isSameOrigin(as: attempt.url) ? [] : try leaveBehind(&next)
        var hop = RedirectHop(
            status: status, from: attempt.url.described, to: target.described, dropped: dropped)
        hop.isStrict = isStrict
        return (next, hop)
    }

    /// Applies the redirect rules after the client's callback changed the target: to yet another origin, carried-over
    /// fields are dropped as in any redirect; fields that the callback set are kept. Returns the names of the dropped
    /// fields.
    ///
    /// Throws `redirectRefused` for a carried-over body that must not be sent to another origin.
    package func leaveBehind(of found: Attempt, in changed: inout Attempt) throws(HTTPFailure) -> [String] {
        guard !changed.url.isSameOrigin(as: found.url) else { return [] }
        if changed.body != .none, changed.body == found.body, !keepsBody { throw Self.wouldCarryBody(to: changed.url) }
        var dropped: [String] = []
        let staying = staying(hasBody: changed.body != .none)
        let old = Set(found.fields.list)
        changed.fields.list.removeAll { field in
            guard old.contains(field), !staying.contains(HTTPFields.key(field.name)) else { return false }
            dropped.append(field.name)
            return true
        }
        return dropped
    }

    /// 303 changes all methods but HEAD to GET; 301 and 302 only POST.
    private static func changeMethod(of attempt: inout Attempt, for status: Int) {
        switch (status, attempt.method) {
        case (303, "GET"), (303, "HEAD"): return
        case (303, _), (301, "POST"), (302, "POST"): break
        default: return
        }
        attempt.method = "GET"
        dropBody(of: &attempt)
    }

    private static func dropBody(of attempt: inout Attempt) {
        attempt.body = .none
        attempt.bodyHolder = nil
        attempt.fields.list.removeAll { field in bodyFields.contains { HTTPFields.same($0, field.name) } }
    }

    /// Drops the carried-over body after the client's callback changed the method to a method without a body.
    package static func leaveBody(of found: Attempt, in changed: inout Attempt) {
        guard changed.method != found.method, ["GET", "HEAD", "TRACE"].contains(changed.method) else { return }
        if changed.body != .none, changed.body == found.body { dropBody(of: &changed) }
    }

    private func leaveBehind(_ attempt: inout Attempt) throws(HTTPFailure) -> [String] {
        if attempt.body != .none, !keepsBody {
            throw Self.wouldCarryBody(to: attempt.url)
        }
        var dropped: [String] = []
        let staying = staying(hasBody: attempt.body != .none)
        attempt.fields.list.removeAll { field in
            if staying.contains(HTTPFields.key(field.name)) { return false }
            dropped.append(field.name)
            return true
        }
        return dropped
    }

    /// The keys of the names that stay; a set, because the client may name many of its many fields.
    private func staying(hasBody: Bool) -> Set<String> {
        var names = Set((Self.harmlessFields + keepHeaders + (hasBody ? Self.bodyFields : [])).map(HTTPFields.key))
        names.remove("host")
        return names
    }

    /// Fields that negotiate content, select a range, or name the user agent.
    private static let harmlessFields = [
        "Accept", "Accept-Encoding", "Accept-Language", "Range", "If-Range", "User-Agent",
    ]

    private static let bodyFields = [
        "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Disposition",
        "Content-Digest", "Content-MD5", "Digest", "Repr-Digest", "Expect",
    ]

    // MARK: where to

    private static func location(_ fields: HTTPFields) throws(HTTPFailure) -> String? {
        let values = fields.all("Location")
        guard let first = values.first, !FieldRules.trimmed(first[...]).isEmpty else { return nil }
        guard values.allSatisfy({ $0 == first }) else { throw refused("leads to several places at once") }
        return first
    }

    private static func target(
        _ location: String, of attempt: Attempt, _ strict: (any StrictTransport)?
    ) throws(HTTPFailure) -> (HTTPURL, isStrict: Bool) {
        let url = attempt.url
        var target: HTTPURL
        do throws(HTTPFailure) {
            target = try url.resolve(reference: location)
        } catch {
            guard error.kind != .unsupportedScheme else {
                throw HTTPFailure(
                    .unsupportedScheme, "the redirect leads to a scheme that is not followed: \(error.message)",
                    sent: .sent)
            }
            throw refused("cannot be followed: \(error.message)")
        }
        if attempt.upgrade != nil { target.scheme = target.scheme.ofHandshake }
        let upgraded = strict?.upgraded(target)
        target = upgraded ?? target
        if url.isSecure, !target.isSecure {
            throw refused("would change https to http: request the https address of \(target.authority)")
        }
        if target.scheme != .http, target.scheme != .https {
            throw HTTPFailure(
                .unsupportedScheme, "the redirect leads to \(target.scheme.rawValue), which is not followed",
                sent: .sent)
        }
        if target.socketPath != url.socketPath {
            throw refused(
                target.socketPath == nil
                    ? "leads from a Unix socket to the network" : "leads from the network to a Unix socket")
        }
        if !target.isSameOrigin(as: url), !AddressPolicy.notMetadata.permits(hostOf: target) {
            throw refused("leads to \(target.host), where clouds keep the secrets of machines")
        }
        return (target, upgraded != nil)
    }

    private static func tooMany(_ limit: Int, _ url: HTTPURL) -> HTTPFailure {
        HTTPFailure(
            .tooManyRedirects, "more than \(limit) redirects; the last came from \(url.origin)", sent: .sent)
    }

    private static func wouldCarryBody(to url: HTTPURL) -> HTTPFailure {
        refused("would send the body from another origin to \(url.origin): say redirect.keepBody if it may")
    }

    private static func refused(_ why: String) -> HTTPFailure {
        HTTPFailure(.redirectRefused, "the redirect \(why)", sent: .sent)
    }
}

extension HTTPURL.Scheme {
    /// The scheme of the request that opens a WebSocket: http for ws, and https for wss (RFC 6455 section 3).
    fileprivate var ofHandshake: Self {
        switch self {
        case .ws: .http
        case .wss: .https
        default: self
        }
    }
}

extension HTTPURL {
    /// Scheme, host and port (RFC 6454 section 5); the socket for a Unix socket.
    package func isSameOrigin(as other: HTTPURL) -> Bool {
        scheme == other.scheme && port == other.port && hostName == other.hostName && socketPath == other.socketPath
    }
}
