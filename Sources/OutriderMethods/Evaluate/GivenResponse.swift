// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A response that a client describes, to test rules.
struct GivenResponse: JSONDecodable {
    var facts: ResponseFacts
    var bytes: [UInt8]
    var failure: HTTPFailure?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        facts = ResponseFacts(status: try fields.integer("status", in: 100...999))
        if let method: String = try fields.optional("method") { facts.method = method }
        if let url: String = try fields.optional("url") { facts.url = url }
        facts.accept = try fields.optional("accept", as: String.self).map { [$0] }
        if let headers: FieldsParameter = try fields.optional("headers") { facts.fields = headers.fields }
        bytes = try fields.optional("body", as: GivenBody.self)?.bytes ?? []
        failure = try fields.optional("error", as: GivenError.self)?.failure
        try fields.finish()
    }

    /// The bytes: text, base64, or JSON that is written unchanged.
    private struct GivenBody: JSONDecodable {
        var bytes: [UInt8]

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let present = fields.present(["text", "base64", "json"])
            let text: String? = try fields.optional("text")
            let base64: String? = try fields.optional("base64")
            let value = fields.value("json")
            try fields.finish()
            guard present.count == 1 else { throw JSONComplaint("must have exactly one of text, base64 and json") }
            if let base64 {
                guard let decoded = Base64.decode(base64) else {
                    throw JSONComplaint("base64 must be base64", at: JSONPointer(member: "base64"))
                }
                bytes = decoded
            } else {
                bytes = text.map { Array($0.utf8) } ?? value.map { JSONWriter.bytes(of: $0) } ?? []
            }
        }
    }

    /// The code, kind or reason of a failure.
    private struct GivenError: JSONDecodable {
        var failure: HTTPFailure

        init(json: JSONValue) throws(JSONComplaint) {
            let name = try String(json: json)
            let code = Int64(name).map { JSONValue.integer($0) } ?? json
            guard let kind = HTTPFailure.Kind.named(code).first else {
                throw JSONComplaint(
                    "must be the kind, the reason or the code of a failure, such as \"timedOut\" or \"1405\"")
            }
            failure = HTTPFailure(kind, "the exchange is said to have failed: \(kind.failureCode.kind)")
        }
    }
}
