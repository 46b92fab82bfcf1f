// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What few requests say about their answer. One reference, so that the others carry nothing about.
package final class ResponseWishes: Sendable {
    package let validation: Validation?
    /// Who wants the answer beside its caller, in the order in which they are served.
    package let handlers: [ResponseRecipient]
    /// The most bytes that its body may have, decoded; more is a failure. Nil for no limit.
    package let maxBody: Int?

    package init(validation: Validation? = nil, handlers: [ResponseRecipient] = [], maxBody: Int? = nil) {
        self.validation = validation
        self.handlers = handlers
        self.maxBody = maxBody
    }

    /// The same, and one more handler.
    package func adding(_ handler: ResponseRecipient) -> ResponseWishes {
        ResponseWishes(validation: validation, handlers: handlers + [handler], maxBody: maxBody)
    }
}

/// One who wants the answer in a shape of its own.
package struct ResponseRecipient: Sendable {
    /// The client's own word for it.
    package var id: String
    package var serialize: SerializeSpec
    package var validation: Validation?

    package init(id: String, serialize: SerializeSpec = SerializeSpec(), validation: Validation? = nil) {
        self.id = id
        self.serialize = serialize
        self.validation = validation
    }
}
