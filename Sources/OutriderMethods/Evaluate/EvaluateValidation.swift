// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Validates a response that the client describes. Nothing is sent.
struct EvaluateValidation: Method {
    static let name = "evaluate.validation"

    struct Params: JSONDecodable {
        var response: GivenResponse
        var validation: Validation?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let response: GivenResponse? = try fields.optional("response")
            let validate: ValidateParameter? = try fields.optional("validate")
            try fields.finish()
            self.response = try JSONFields.need("response", response)
            validation = try JSONFields.need("validate", validate).validation
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ValidationVerdict {
        let given = params.response
        var failure = given.failure
        if failure == nil, let validation = params.validation {
            failure = await ResponseWork(facts: given.facts).fault(validation, .bytes(given.bytes), includingHead: true)
        }
        return ValidationVerdict(failure: failure)
    }
}
