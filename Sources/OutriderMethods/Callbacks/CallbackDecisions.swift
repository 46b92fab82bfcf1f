// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The reply to `callback.adapt`: changes to the attempt.
struct AttemptChange: JSONDecodable {
    private var url: String?
    private var method: String?
    private var fields: HTTPFields?
    private var removed: [String]
    private var query: ValuesParameter?
    private var body: Body?
    private var timeout: TimeoutParameter?

    private enum Body: Sendable {
        case given(BodySpec)
        /// The same for a further attempt, without another copy.
        case held(AttemptBody, any BodyHolder, type: String?, isTypeFixed: Bool)
    }

    /// Whether the reply replaces the body.
    var hasBody: Bool { body != nil }

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        url = try fields.optional("url")
        method = try fields.optional("method")
        self.fields = try fields.optional("headers", check: CallbackReplyLimits.fault(inFields:))?.fields
        removed = try fields.optional("removeHeaders", check: CallbackReplyLimits.fault(inNames:)) ?? []
        query = try fields.optional("query")
        body = try fields.optional("body", as: BodyParameter.self, check: Self.fault).map { .given($0.body) }
        timeout = try fields.optional("timeout")
        try fields.finish()
    }

    /// Files and streams are opened and measured only for the body of the request itself.
    private static func fault(_ parameter: BodyParameter) -> String? {
        switch parameter.body.content {
        case .file: return "must not be a file: give its content as text or base64"
        case .stream: return "must not be a stream: give its bytes as text or base64"
        case .multipart(let form):
            let isAtHand = form.parts.allSatisfy { if case .bytes = $0.content { true } else { false } }
            return isAtHand ? nil : "must not have parts from files and streams: give them as text or base64"
        default: return nil
        }
    }

    /// Throws the failures of building a request.
    ///
    /// - Parameter keepsType: the attempt's Content-Type stays, unless the body names a type, or is a form of parts.
    func apply(to attempt: inout Attempt, keepsType: Bool = false) throws(HTTPFailure) {
        if let url { attempt.url = try HTTPURL(parsing: url) }
        if let query {
            let text = try QueryEncoding().encode(query.object, at: "/query")
            if let fault = CallbackReplyLimits.fault(inQuery: text) {
                throw HTTPFailure(.createURLRequestFailed, "query \(fault)", pointer: "/query")
            }
            attempt.url.append(query: text)
        }
        if let method {
            if let fault = FieldRules.fault(inMethod: method) { throw HTTPFailure(.createURLRequestFailed, fault) }
            attempt.method = method
        }
        if !removed.isEmpty {
            let names = FieldNames(removed)
            attempt.fields.list.removeAll { names.contains($0.name) }
        }
        if let body {
            // the new body is not compressed
            if attempt.isCompressed { attempt.fields.remove("Content-Encoding") }
            let type: String?
            let isTypeFixed: Bool
            switch body {
            case .given(let spec):
                (attempt.body, attempt.bodyHolder) = (try spec.encoded(fileSize: nil), nil)
                (type, isTypeFixed) = (spec.impliedContentType, spec.hasFixedType)
            case .held(let held, let holder, let implied, let isFixed):
                (attempt.body, attempt.bodyHolder) = (held, holder)
                (type, isTypeFixed) = (implied, isFixed)
            }
            if isTypeFixed || !keepsType || !attempt.fields.contains("Content-Type") {
                attempt.fields.remove("Content-Type")
                if let type { attempt.fields.add("Content-Type", type) }
            }
        }
        if let fields { try FieldChanges(fields).apply(to: &attempt.fields) }
        timeout?.apply(to: &attempt.timeouts)
    }
}

extension AttemptChange {
    /// Keeps the body of an attempt to which the reply was applied, if the budget counts the body, or a file has it.
    mutating func keep(bodyOf attempt: Attempt) {
        guard case .given(let spec) = body, let holder = attempt.bodyHolder else { return }
        body = .held(attempt.body, holder, type: spec.impliedContentType, isTypeFixed: spec.hasFixedType)
    }
}

/// The reply to `callback.retry`: whether to make another attempt.
struct RetryDecision: JSONDecodable {
    var verdict: RetryVerdict

    /// Seconds.
    private static let delays = 0.0...86400

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let retry: Bool? = try fields.optional("retry")
        let delay = try fields.number("delay", in: Self.delays)
        let error: String? = try fields.optional("error", check: CallbackReplyLimits.fault(inReason:))
        try fields.finish()
        let isWanted = try JSONFields.need("retry", retry)
        if delay != nil && !isWanted {
            throw JSONComplaint("delay goes with retry: true only", at: JSONPointer(member: "delay"))
        }
        if error != nil && isWanted {
            throw JSONComplaint("error goes with retry: false only", at: JSONPointer(member: "error"))
        }
        if isWanted {
            verdict = .retry(after: delay ?? 0)
        } else if let error {
            verdict = .fail(HTTPFailure(.sessionTaskFailed, error))
        } else {
            verdict = .doNotRetry
        }
    }
}

/// The reply to `callback.validate`: whether the response is acceptable.
struct ValidateDecision: JSONDecodable {
    var isValid: Bool
    /// Why the response is not acceptable.
    var reason: String?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let valid: Bool? = try fields.optional("valid")
        reason = try fields.optional("reason", check: CallbackReplyLimits.fault(inReason:))
        try fields.finish()
        isValid = try JSONFields.need("valid", valid)
    }
}

/// The reply to `callback.serialize`: the value of the body.
struct SerializeDecision: JSONDecodable {
    var value: JSONText

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        value = JSONText(written: JSONWriter.bytes(of: fields.value("value") ?? .null))
        try fields.finish()
    }
}

/// The reply to `callback.preprocess`: the bytes to read, as `text` or `base64`.
struct PreprocessDecision: JSONDecodable {
    var bytes: [UInt8]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let text: String? = try fields.optional("text")
        let base64: String? = try fields.optional("base64")
        try fields.finish()
        switch (text, base64) {
        case (let text?, nil): bytes = Array(text.utf8)
        case (nil, let base64?):
            guard let decoded = Base64.decode(base64) else {
                throw JSONComplaint("base64 must be base64 (RFC 4648)", at: JSONPointer(member: "base64"))
            }
            bytes = decoded
        default: throw JSONComplaint("must have exactly one of text and base64")
        }
    }
}

/// The reply to `callback.disposition`: whether to read the body.
struct DispositionDecision: JSONDecodable {
    var isAllowed: Bool

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let allow: Bool? = try fields.optional("allow")
        try fields.finish()
        isAllowed = try JSONFields.need("allow", allow)
    }
}

/// The reply to `callback.redirect`: whether to follow, and how.
struct RedirectDecision: JSONDecodable {
    var follows: Bool
    /// Changes to the attempt that follows the redirect.
    var change: AttemptChange?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let follow: Bool? = try fields.optional("follow")
        change = try fields.optional("request")
        try fields.finish()
        follows = try JSONFields.need("follow", follow)
        if change != nil && !follows {
            throw JSONComplaint("request goes with follow: true only", at: JSONPointer(member: "request"))
        }
    }
}

/// The reply to `callback.destination`: the path of the file.
struct DestinationDecision: JSONDecodable {
    var destination: ArrivedFile.Destination

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let path: String? = try fields.optional("path")
        let replaces: Bool = try fields.optional("replace") ?? false
        let creates: Bool = try fields.optional("createDirectories") ?? false
        try fields.finish()
        destination = ArrivedFile.Destination(
            path: try JSONFields.need("path", path), replaces: replaces, createsDirectories: creates)
    }
}

/// The reply to `callback.challenge`: the credentials; none without `credential`.
struct ChallengeDecision: JSONDecodable {
    var given: CallbackCredential?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let credential: CredentialParameter? = try fields.optional("credential")
        let persistence = try fields.persistence() ?? .forSession
        try fields.finish()
        given = credential.map { CallbackCredential($0.credential, isKept: persistence == .forSession) }
    }
}

/// The reply to `callback.cacheResponse`: changes to the stored response.
struct CacheDecision: JSONDecodable {
    private var isStored: Bool
    private var fields: HTTPFields?
    private var bytes: [UInt8]?
    private var userInfo: String?
    private var isMemoryOnly: Bool?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let store: Bool? = try fields.optional("store")
        self.fields = try fields.optional("headers", as: FieldsParameter.self)?.fields
        let text: String? = try fields.optional("text")
        let base64: String? = try fields.optional("base64")
        let info: JSONObject? = try fields.optional("userInfo")
        let storage: StorageWord? = try fields.choice("storage")
        try fields.finish()
        isStored = try JSONFields.need("store", store)
        if text != nil, base64 != nil {
            throw JSONComplaint("text and base64 exclude each other", at: JSONPointer(member: "base64"))
        }
        bytes = text.map { Array($0.utf8) }
        if let base64 {
            guard let decoded = Base64.decode(base64) else {
                throw JSONComplaint("base64 must be base64 (RFC 4648)", at: JSONPointer(member: "base64"))
            }
            bytes = decoded
        }
        if let info {
            let written = JSONWriter.bytes(of: info)
            guard written.count <= CacheDraft.mostInfoBytes else {
                throw JSONComplaint(
                    "userInfo must not be longer than \(CacheDraft.mostInfoBytes) bytes",
                    at: JSONPointer(member: "userInfo"))
            }
            userInfo = String(decoding: written, as: UTF8.self)
        }
        isMemoryOnly = storage.map { $0 == .memory }
    }

    private static let bodyFields = [
        "Content-Encoding", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest",
    ]

    /// Nil for a response that is not stored.
    func applied(to draft: CacheDraft) -> CacheDraft? {
        guard isStored else { return nil }
        var draft = draft
        if let fields { draft.fields = fields }
        if let bytes {
            draft.body = bytes
            draft.fields.set("Content-Length", String(bytes.count))
            // of the body that came, unless the code says otherwise
            if fields == nil { for name in Self.bodyFields { draft.fields.remove(name) } }
        } else if draft.fields.contains("Content-Length"), !draft.fields.contains("Content-Encoding") {
            draft.fields.set("Content-Length", String(draft.body.count))
        }
        if let userInfo { draft.userInfo = userInfo }
        if let isMemoryOnly { draft.isMemoryOnly = isMemoryOnly }
        return draft
    }
}
