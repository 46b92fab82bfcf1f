// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Converts a response that the client describes, as a request would. Nothing is sent.
struct EvaluateSerialization: Method {
    static let name = "evaluate.serialization"

    struct Params: JSONDecodable {
        var response: GivenResponse
        var validation: Validation?
        var serialize: SerializeSpec
        var handlers: [ResponseRecipient]

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let response: GivenResponse? = try fields.optional("response")
            validation = try fields.optional("validate", as: ValidateParameter.self)?.validation
            serialize = try fields.optional("serialize", as: SerializeParameter.self)?.spec ?? SerializeSpec()
            handlers = try fields.optional("handlers", as: HandlersParameter.self)?.handlers ?? []
            try fields.finish()
            self.response = try JSONFields.need("response", response)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let given = params.response
        let work = ResponseWork(facts: given.facts)
        var failure = given.failure
        if failure == nil, let validation = params.validation {
            failure = await work.fault(validation, .bytes(given.bytes), includingHead: true)
        }
        let serialized = await work.body(given.bytes, params.serialize, failure: failure)
        var results: [HandlerResult] = []
        for handler in params.handlers {
            results.append(await work.result(handler, .bytes(given.bytes), failure: failure))
        }
        failure = failure ?? serialized.failure
        return ReplyMembers { writer in
            writer.member("ok", failure == nil)
            writer.member("body", ResponseBodyShape(serialized, given.bytes, given.facts))
            if let failure { writer.member("error", FailureShape(failure)) }
            if !results.isEmpty { writer.member("results", results) }
        }
    }
}
