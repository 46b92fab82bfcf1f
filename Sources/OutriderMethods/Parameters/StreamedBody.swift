// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

extension RequestParameters {
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
