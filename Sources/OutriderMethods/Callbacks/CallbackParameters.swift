// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The members that the params of all callbacks share.
struct CallbackSubject: Sendable {
    /// The client's own name for the callback.
    var callback: String
    /// Nil for a callback without a request; `attempt` is then meaningless.
    var request: String?
    /// The handle or name of the request's session; nil for the default session.
    var session: String?
    var tag: String?
    var attempt: Int
}

/// The params of a callback.
struct CallbackParameters: ObjectShape, Sendable {
    enum Content: Sendable {
        case adapt(Attempt, retries: Int)
        case encode(Attempt, JSONValue, retries: Int)
        case retry(HTTPFailure?, Attempt, ExchangeHead?, retries: Int)
        case validate(ResponseFacts, CallbackBody?)
        case serialize(ResponseFacts, CallbackBody, HTTPFailure?)
        case preprocess(ResponseFacts, CallbackBody)
        case disposition(Attempt, ExchangeHead?)
        case redirect(RedirectHop, Attempt)
        case destination(ArrivedFile, Attempt, ExchangeHead?)
        case challenge(AuthenticationCallback, Attempt, ExchangeHead?)
        case refresh(CredentialSnapshot, RefreshReason)
        case passphrase(store: String, failures: Int)
        case keyPassphrase(file: String, failures: Int)
        case trust(TrustCallback)
        case cacheResponse(CacheDraft, Attempt)
    }

    var names: CallbackSubject
    var deadline: WallTime
    var content: Content

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("callback", names.callback)
        writer.member("request", names.request)
        writer.member("session", names.session)
        writer.member("tag", names.tag)
        if names.request != nil { writer.member("attempt", names.attempt) }
        writer.member("deadline", TimeShape(deadline))
        encodeContent(to: &writer)
    }

    private func encodeContent(to writer: inout JSONWriter) {
        switch content {
        case .adapt(let attempt, let retries):
            Self.encode(attempt, to: &writer)
            writer.member("retries", retries)
        case .encode(let attempt, let parameters, let retries):
            Self.encode(attempt, to: &writer)
            writer.member("parameters", parameters)
            writer.member("retries", retries)
        case .retry(let failure, let attempt, let head, let retries):
            Self.encode(attempt, to: &writer)
            writer.member("retries", retries)
            if let head { writer.member("response", HeadShape(head: head)) }
            if let failure { writer.member("error", FailureShape(failure)) }
        case .validate(let facts, let body):
            Self.encode(facts, to: &writer)
            writer.member("body", body)
        case .serialize(let facts, let body, let failure):
            Self.encode(facts, to: &writer)
            writer.member("body", body)
            if let failure { writer.member("error", FailureShape(failure)) }
        case .preprocess(let facts, let body):
            Self.encode(facts, to: &writer)
            writer.member("body", body)
        case .disposition(let attempt, let head): Self.encode(attempt, head, to: &writer)
        case .redirect(let hop, let attempt):
            writer.member("status", hop.status)
            writer.member("from", hop.from)
            writer.member("to", hop.to)
            writer.member("dropped", hop.dropped)
            Self.encode(attempt, to: &writer)
        case .destination(let file, let attempt, let head):
            Self.encode(attempt, head, to: &writer)
            writer.member("path", file.path)
            writer.member("size", file.size)
            writer.member("suggestedFilename", file.suggestedName)
        case .refresh(let credential, let reason):
            writer.member("credential", credential.spec.name)
            writer.member("reason", reason.rawValue)
            writer.member("scope", credential.spec.scope)
            writer.member("expiresAt", credential.access?.expires.map { TimeShape($0.wallTime) })
        case .passphrase(let store, let failures):
            writer.member("store", store)
            writer.member("failures", failures)
        case .keyPassphrase(let file, let failures):
            writer.member("file", file)
            writer.member("failures", failures)
        case .trust(let callback): Self.encode(callback, to: &writer)
        case .cacheResponse(let draft, let attempt):
            Self.encode(attempt, ExchangeHead(draft), to: &writer)
            writer.member(
                "body",
                CallbackBody(
                    .memory(draft.body, nil), contentType: draft.fields.first("Content-Type"),
                    limit: CacheDraft.mostBytes))
        case .challenge(let callback, let attempt, let head):
            Self.encode(attempt, head, to: &writer)
            writer.member("offers", callback.offers.map { OfferShape($0) })
            writer.member("failures", callback.failures)
            writer.member("username", callback.refused?.username)
            if callback.source == .proxy {
                writer.member("proxy", true)
                writer.member("proxyUrl", callback.url.origin)
            }
        }
    }

    private static func encode(_ attempt: Attempt, to writer: inout JSONWriter) {
        writer.member("method", attempt.method)
        writer.member("url", attempt.url.description)
        writer.member("headers", FieldsShape(attempt.fields))
        writer.member("hasBody", attempt.body != .none)
    }

    private static func encode(_ callback: TrustCallback, to writer: inout JSONWriter) {
        writer.member("host", callback.host)
        writer.member("port", callback.port)
        writer.member("trusted", callback.reason == nil)
        writer.member("reason", callback.reason)
        writer.member("chain", callback.chain.map(CertificateShape.init))
    }

    private static func encode(_ facts: ResponseFacts, to writer: inout JSONWriter) {
        writer.member("method", facts.method)
        writer.member("url", facts.url)
        guard let status = facts.status else { return }
        writer.member("response") { writer in
            writer.member("status", status)
            writer.member("headers", FieldsShape(facts.fields))
        }
    }

    private static func encode(_ attempt: Attempt, _ head: ExchangeHead?, to writer: inout JSONWriter) {
        writer.member("method", attempt.method)
        writer.member("url", attempt.url.description)
        if let head { writer.member("response", HeadShape(head: head)) }
    }

    private struct HeadShape: ObjectShape {
        var head: ExchangeHead

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("status", head.status)
            writer.member("headers", FieldsShape(head.fields))
        }
    }
}

/// The body of a response in a callback: as text if possible, else as base64; the path of a long body.
struct CallbackBody: ObjectShape, Sendable {
    private enum Content {
        case none
        case text(String)
        case base64([UInt8])
        case file(String)
        case omitted
    }

    private var content: Content
    private var size: Int
    private var contentType: String?

    /// - Parameter limit: in bytes; a longer body is left out.
    init(_ body: ExchangeOutcome.Body, contentType: String?, limit: Int) {
        self.contentType = contentType
        switch body {
        case .none: (content, size) = (.none, 0)
        case .memory(let bytes, _): (content, size) = (Self.shown(bytes, limit), bytes.count)
        case .kept(let kept):
            size = kept.size
            content = kept.path.map { .file($0) } ?? .omitted
        }
    }

    private static func shown(_ bytes: [UInt8], _ limit: Int) -> Content {
        if bytes.count > limit { return .omitted }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { return .base64(bytes) }
        return .text(text)
    }

    func encodeMembers(to writer: inout JSONWriter) {
        switch content {
        case .none: writer.member("kind", "none")
        case .text(let text):
            writer.member("kind", "text")
            writer.member("text", text)
        case .base64(let bytes):
            writer.member("kind", "base64")
            bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        case .file(let path):
            writer.member("kind", "file")
            writer.member("path", path)
        case .omitted: writer.member("kind", "omitted")
        }
        writer.member("size", size)
        writer.member("contentType", contentType)
    }
}
