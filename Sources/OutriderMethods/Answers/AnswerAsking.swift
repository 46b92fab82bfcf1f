// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// How a client's own code is asked what it makes of an answer.
protocol AnswerAsking: Sendable {
    /// Throws what it objects to. Without a body where only the head has come.
    func validate(_ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body?) async throws(HTTPFailure)

    /// What the body says: whatever happened, the failure included.
    func serialize(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async throws(HTTPFailure) -> JSONText

    /// The bytes to read in place of these.
    func preprocess(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: [UInt8]
    ) async throws(HTTPFailure) -> [UInt8]
}

extension ExchangeOutcome.Body {
    /// Bytes that are there.
    static func bytes(_ bytes: [UInt8]) -> ExchangeOutcome.Body { bytes.isEmpty ? .none : .memory(bytes, nil) }

    var isEmpty: Bool {
        switch self {
        case .none: true
        case .memory(let bytes, _): bytes.isEmpty
        case .kept(let body): body.size == 0
        }
    }

    /// All of it in memory. Throws inputFileReadFailed, and limitExceeded when it is kept and too long for rules.
    func whole() async throws(HTTPFailure) -> [UInt8] {
        switch self {
        case .none: []
        case .memory(let bytes, _): bytes
        case .kept(let body): try await body.wholeForRules()
        }
    }
}
