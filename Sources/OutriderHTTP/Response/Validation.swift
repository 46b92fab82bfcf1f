// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The conditions for success: rules in order, of which the first that fails gives the failure.
///
/// Without rules, every complete response is a success, even with status 500.
package struct Validation: Sendable {
    package var rules: [ValidationRule]

    package init(_ rules: [ValidationRule]) { self.rules = rules }

    /// The meaning of `true`: a status of 200 to 299, and a Content-Type that the request accepts.
    package static let standard = Validation([ValidationRule(status: .successful, contentType: .accept)])

    /// Whether a rule is judged before the body is read.
    package var looksAtHead: Bool { rules.contains { $0.onHeaders } }

    package var callsClient: Bool { rules.contains { $0.callback != nil } }

    /// The first failure by rules that need no callback; nil if valid.
    package func fault(_ facts: ResponseFacts, _ body: [UInt8]) -> HTTPFailure? {
        for rule in rules {
            if let failure = rule.fault(facts, isEmpty: body.isEmpty) { return failure }
            if let failure = rule.schemaFault(facts, body) { return failure }
        }
        return nil
    }
}

/// A rule: its parts are checked in the order of these members.
package struct ValidationRule: Sendable {
    package var status: StatusRanges?
    package var contentType: AcceptableTypes?
    /// Of the body, which must be JSON.
    package var schema: JSONSchema?
    /// The client's callback, called last.
    package var callback: CallbackSpec?
    /// Check all but the schema as soon as the head arrives; after a failure, the body is not read.
    package var onHeaders: Bool

    package init(
        status: StatusRanges? = nil, contentType: AcceptableTypes? = nil, schema: JSONSchema? = nil,
        callback: CallbackSpec? = nil, onHeaders: Bool = false
    ) {
        self.status = status
        self.contentType = contentType
        self.schema = schema
        self.callback = callback
        self.onHeaders = onHeaders
    }

    /// The failure of the head; nil if valid.
    ///
    /// - Parameter isEmpty: whether the body is empty, or will be according to the head.
    package func fault(_ facts: ResponseFacts, isEmpty: Bool) -> HTTPFailure? {
        guard let code = facts.status else { return nil }
        if let status, !status.contains(code) { return Self.unacceptable(code, facts) }
        return contentType?.fault(facts, isEmpty: isEmpty)
    }

    /// The failure of the body; nil if valid, or without a schema.
    package func schemaFault(_ facts: ResponseFacts, _ body: [UInt8]) -> HTTPFailure? {
        guard let schema else { return nil }
        let fault = SchemaCheck.fault(body, schema, contentType: facts.contentType)
        return fault.map { fault in
            HTTPFailure(
                .customValidationFailed, "Response body was unacceptable: \(fault.message) (\(facts.shown))",
                sent: .sent, details: [.instancePointer(fault.pointer)])
        }
    }

    /// The failure for a refusal by the client's callback. The `error` detail repeats the decision.
    package static func objection(_ reason: String?, _ facts: ResponseFacts) -> HTTPFailure {
        var decision: JSONObject = ["valid": .bool(false)]
        if let reason { decision["reason"] = .string(reason) }
        let text = reason.map { ": \($0)" } ?? ""
        return HTTPFailure(
            .customValidationFailed, "Response was unacceptable to the client\(text) (\(facts.shown))", sent: .sent,
            details: [.error(.object(decision))])
    }

    package static func unacceptable(_ status: Int, _ facts: ResponseFacts) -> HTTPFailure {
        HTTPFailure(
            .unacceptableStatusCode, "Response status code was unacceptable: \(status) (\(facts.shown))",
            retryable: transient.contains(status) && repeatable.contains(facts.method), sent: .sent,
            details: [.status(status)])
    }

    /// Statuses that may succeed later (RFC 9110 sections 15.5.9 and 15.6, RFC 6585 section 4).
    static let transient: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The idempotent methods (RFC 9110 section 9.2.2).
    private static let repeatable: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"]
}
