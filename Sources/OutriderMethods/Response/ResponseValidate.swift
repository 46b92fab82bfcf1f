// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Validates an ended response.
struct ResponseValidate: Method {
    static let name = "response.validate"

    struct Params: JSONDecodable {
        var source: ResponseSource
        var validation: Validation?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let source = try ResponseSource.read(&fields)
            let validate: ValidateParameter? = try fields.optional("validate")
            try fields.finish()
            self.source = try JSONFields.need("response", source)
            validation = try JSONFields.need("validate", validate).validation
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ValidationVerdict {
        let found = try await params.source.found(call)
        var failure = found.failure
        if failure == nil, let validation = params.validation {
            let work = ResponseWork(facts: found.facts, callbacks: found.callbacks)
            failure = await work.fault(validation, found.body, includingHead: true)
        }
        return ValidationVerdict(failure: failure)
    }
}
