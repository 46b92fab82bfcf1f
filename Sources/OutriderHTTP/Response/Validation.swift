// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// What an answer must be to count as a success: rules in order, of which the first that fails is the failure.
///
/// Without rules everything that arrives whole is a success, a status of 500 too.
package struct Validation: Sendable {
    package var rules: [ValidationRule]

    package init(_ rules: [ValidationRule]) { self.rules = rules }

    /// What `true` means: a status of 200 to 299, and a Content-Type that the request accepts.
    package static let standard = Validation([ValidationRule(status: .successful, contentType: .accept)])

    /// Whether a rule is judged before the body is read.
    package var looksAtHead: Bool { rules.contains { $0.onHeaders } }

    /// Whether a rule waits for the body.
    package var looksAtBody: Bool { rules.contains { !$0.onHeaders || $0.schema != nil } }

    package var asksClient: Bool { rules.contains { $0.callback != nil } }

    /// What is wrong with an answer by the rules that need nobody's opinion, in order; nil if nothing is.
    package func fault(_ facts: ResponseFacts, _ body: [UInt8]) -> HTTPFailure? {
        for rule in rules {
            if let failure = rule.fault(facts, isEmpty: body.isEmpty) { return failure }
            if let failure = rule.schemaFault(facts, body) { return failure }
        }
        return nil
    }
}

/// One rule: its parts are judged in the order in which they stand here.
package struct ValidationRule: Sendable {
    package var status: StatusRanges?
    package var contentType: AcceptableTypes?
    /// Of the body, which must be JSON.
    package var schema: JSONSchema?
    /// The client's own opinion, asked last.
    package var callback: CallbackSpec?
    /// Judge it, but for the schema, as soon as the head is there; when it fails, the body is not read.
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

    /// What is wrong with the head; nil if nothing is.
    ///
    /// - Parameter isEmpty: whether the body is, or will be by what the head says.
    package func fault(_ facts: ResponseFacts, isEmpty: Bool) -> HTTPFailure? {
        guard let code = facts.status else { return nil }
        if let status, !status.contains(code) { return Self.unacceptable(code, facts) }
        return contentType?.fault(facts, isEmpty: isEmpty)
    }

    /// What is wrong with the body; nil if nothing is, or there is no schema.
    package func schemaFault(_ facts: ResponseFacts, _ body: [UInt8]) -> HTTPFailure? {
        guard let schema else { return nil }
        let fault = SchemaCheck.fault(body, schema, contentType: facts.contentType)
        return fault.map { fault in
            HTTPFailure(
                .customValidationFailed, "Response body was unacceptable: \(fault.message) (\(facts.shown))",
                sent: .sent, details: [.instancePointer(fault.pointer)])
        }
    }

    /// The failure for a refusal by the client's own code. The `error` detail repeats the decision.
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

    /// What a server says that may do better later (RFC 9110 sections 15.5.9 and 15.6, RFC 6585 section 4).
    private static let transient: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// What may be sent twice (RFC 9110 section 9.2.2).
    private static let repeatable: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"]
}
