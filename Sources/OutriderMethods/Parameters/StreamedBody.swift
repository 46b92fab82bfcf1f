// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

extension RequestParameters {
    /// Refuses rules that need the body of a response whose body is discarded.
    func judgesNoBody() throws(JSONComplaint) {
        guard let rules = spec.options?.validation?.rules, rules.contains(where: { $0.schema != nil }) else { return }
        throw JSONComplaint("a schema needs the body: not with bodyTo discard", at: JSONPointer(member: "validate"))
    }

    /// Validates the response before the first byte goes to a stream. Refuses rules that need the body.
    mutating func judgesHeadOnly() throws(JSONComplaint) {
        guard let options = spec.options, var validation = options.validation else { return }
        for index in validation.rules.indices {
            if validation.rules[index].schema != nil {
                throw JSONComplaint(
                    "a schema cannot judge a stream, whose bytes are delivered as they come",
                    at: JSONPointer(member: "validate"))
            }
            validation.rules[index].onHeaders = true
        }
        spec.options = ResponseOptions(validation: validation, handlers: options.handlers, maxBody: options.maxBody)
    }
}
