// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The params of `event.monitor`.
struct MonitorEventShape: ObjectShape {
    var subscription: String
    /// Counted per subscription, from 0; dropped notes leave gaps.
    var number: Int
    var note: MonitorNote

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("subscription", subscription)
        writer.member("seq", number)
        writer.member("topic", note.topic.name)
        writer.member("at", TimeShape(note.time))
        writer.member("request", note.subject.request)
        writer.member("session", note.subject.session)
        writer.member("tag", note.subject.tag)
        writer.member("detail", note.detail)
    }
}

/// The params of `event.dropped` about a subscription.
struct MonitorDropShape: ObjectShape {
    var subscription: String
    var count: Int

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("subscription", subscription)
        writer.member("count", count)
    }
}

/// The detail of a topic: without secrets, masked for the owner or for the log.
struct MonitorDetailShape: ObjectShape {
    var detail: MonitorDetail
    var mask: MonitorMask

    func encodeMembers(to writer: inout JSONWriter) {
        switch detail {
        case .nothing: return
        case .request(let request, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("method", request.method)
            writer.member("url", mask.url(request.url.description))
            writer.member("headers", FieldsShape(mask.fields(request.fields)))
        case .outcome(let failure, let attempt):
            Self.number(attempt, to: &writer)
            encode(failure, to: &writer)
        case .attempt(let attempt): Self.number(attempt, to: &writer)
        case .phase(let phase, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("phase", phase.rawValue)
        case .connection(let timeline, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("reused", timeline.reused)
            writer.member("remote", timeline.remote)
            writer.member("tlsVersion", timeline.tlsVersion)
            writer.member("alpn", timeline.alpn)
            writer.member("verified", timeline.tlsFacts?.verified.rawValue)
        case .head(let status, let version, let fields, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("status", status)
            writer.member("httpVersion", version)
            writer.member("headers", FieldsShape(mask.fields(fields)))
        case .bytes(let count, let total, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("completed", count)
            writer.member("total", total)
        case .timeline(let timeline, let version, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("metrics", TimelineShape(timeline: timeline, version: version))
        case .redirect(let hop, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("status", hop.status)
            writer.member("from", mask.url(hop.from))
            writer.member("to", mask.url(hop.to))
            writer.member("dropped", hop.dropped)
        case .retry(let delay, let failure, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("delay", delay)
            encode(failure, to: &writer)
        case .finish(let finish): encode(finish, to: &writer)
        case .upload(let kind, let size):
            writer.member("kind", kind)
            writer.member("size", size)
        case .parsed(let kind, let size, let handler, let failure):
            writer.member("handler", handler)
            writer.member("kind", kind)
            writer.member("size", size)
            encode(failure, to: &writer)
        case .handle(let handle, let size):
            writer.member("handle", handle)
            writer.member("size", size)
        case .token(let name, let failure):
            writer.member("credential", name)
            if let failure { writer.member("oauth", OAuthFailureShape(failure)) }
        case .callback(let callback):
            Self.encode(callback, to: &writer)
            if mask == .owner { writer.member("reason", callback.reason) }
        case .challenge(let offers, let url, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("url", mask.url(url))
            writer.member("offers", offers.map { OfferShape($0, realm: mask.name($0.realm)) })
        case .credential(let signature, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("scheme", signature.scheme.rawValue)
            writer.member("realm", mask.name(signature.space.realm))
            writer.member("username", mask.name(signature.credential.username))
            writer.member("unasked", signature.isEarly)
        case .partial(let path, let count, let total):
            writer.member("path", mask.name(path))
            writer.member("completed", count)
            writer.member("total", total)
        case .file(let path, let size):
            writer.member("path", mask.name(path))
            writer.member("size", size)
        case .item(let stream, let size, let failure):
            writer.member("handle", stream)
            writer.member("size", size)
            encode(failure, to: &writer)
        case .cookies(let changes, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("cookies", changes.map(CookieChangeShape.init))
        case .cache(let note, let attempt):
            Self.number(attempt, to: &writer)
            writer.member("cache", note.name)
            writer.member("url", note.url.map { mask.url($0) })
            writer.member("use", note.status?.rawValue)
            writer.member("reason", note.reason)
            writer.member("size", note.size)
            writer.member("count", note.count)
        }
    }

    private static func number(_ attempt: Int, to writer: inout JSONWriter) { writer.member("attempt", attempt) }

    private func encode(_ failure: HTTPFailure?, to writer: inout JSONWriter) {
        if let failure { writer.member("error", FailureShape(mask.failure(failure))) }
    }

    private func encode(_ finish: MonitorDetail.Finish, to writer: inout JSONWriter) {
        writer.member("ok", finish.failure == nil)
        writer.member("method", finish.method)
        writer.member("url", mask.url(finish.url))
        writer.member("status", finish.status)
        writer.member("attempts", finish.attempts)
        writer.member("redirects", finish.redirects)
        writer.member("bytes", finish.bytes)
        writer.member("total", finish.total)
        encode(finish.failure, to: &writer)
    }

    private static func encode(_ callback: MonitorDetail.CallbackFacts, to writer: inout JSONWriter) {
        writer.member("method", callback.method)
        writer.member("callback", callback.name)
        number(callback.attempt, to: &writer)
        writer.member("seconds", callback.seconds)
        writer.member("problem", callback.problem)
    }
}
