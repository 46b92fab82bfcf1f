// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The rare options for responses. Behind a reference, so that other requests stay small.
package final class ResponseOptions: Sendable {
    package let validation: Validation?
    /// Further recipients of the response beside the caller, in the order of service.
    package let handlers: [ResponseRecipient]
    /// The most bytes that its body may have, decoded; more is a failure. Nil for no limit.
    package let maxBody: Int?

    package init(validation: Validation? = nil, handlers: [ResponseRecipient] = [], maxBody: Int? = nil) {
        self.validation = validation
        self.handlers = handlers
        self.maxBody = maxBody
    }
}

/// A recipient of the response in a shape of its own.
package struct ResponseRecipient: Sendable {
    /// The client's name for the handler.
    package var id: String
    package var serialize: SerializeSpec
    package var validation: Validation?

    package init(id: String, serialize: SerializeSpec = SerializeSpec(), validation: Validation? = nil) {
        self.id = id
        self.serialize = serialize
        self.validation = validation
    }
}
