// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// Runs the client's callbacks about a response.
protocol ResponseCallbacks: AnyObject, Sendable {
    /// Throws the client's objection. Without a body if only the head has come.
    func validate(_ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body?) async throws(HTTPFailure)

    /// The value of the body, with or without a failure.
    func serialize(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async throws(HTTPFailure) -> CallbackValue<JSONText>

    /// The bytes to read in place of these.
    func preprocess(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: [UInt8]
    ) async throws(HTTPFailure) -> CallbackValue<[UInt8]>
}

/// A value that a callback made, and its memory, which the user of the value keeps; nil for a short value.
struct CallbackValue<Value: Sendable>: Sendable {
    var value: Value
    var holder: (any BodyHolder)?
}

extension ExchangeOutcome.Body {
    /// A body of bytes in memory.
    static func bytes(_ bytes: [UInt8]) -> ExchangeOutcome.Body { bytes.isEmpty ? .none : .memory(bytes, nil) }

    var isEmpty: Bool {
        switch self {
        case .none: true
        case .memory(let bytes, _): bytes.isEmpty
        case .kept(let body): body.size == 0
        }
    }

    /// The whole body in memory. Throws inputFileReadFailed, and limitExceeded for a kept body that is too long for
    /// rules.
    func whole() async throws(HTTPFailure) -> [UInt8] {
        switch self {
        case .none: []
        case .memory(let bytes, _): bytes
        case .kept(let body): try await body.wholeForRules()
        }
    }
}
