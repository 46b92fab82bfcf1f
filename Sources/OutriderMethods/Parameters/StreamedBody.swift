// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Where the body of an answer goes, as a request says it.
enum BodyPlace: String, Sendable, CaseIterable {
    case inline, stored, file, discard, stream

    /// What is kept of it for others than the stream.
    var destination: BodyDestination {
        switch self {
        case .inline: .inline
        case .stored: .stored
        case .file: .file
        case .discard, .stream: .discard
        }
    }
}

extension RequestParameters {
    /// Judges the answer before its first byte goes to a stream. Refuses what can be judged only afterwards.
    mutating func judgesHeadOnly() throws(JSONComplaint) {
        guard let wishes = spec.wishes, var validation = wishes.validation else { return }
        for index in validation.rules.indices {
            if validation.rules[index].schema != nil {
                throw JSONComplaint(
                    "a schema cannot judge a stream, whose bytes are delivered as they come",
                    at: JSONPointer(member: "validate"))
            }
            validation.rules[index].onHeaders = true
        }
        spec.wishes = ResponseWishes(validation: validation, handlers: wishes.handlers, maxBody: wishes.maxBody)
    }
}
