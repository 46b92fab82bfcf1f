// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// An ended response, by the handle of its kept body or of its request.
enum ResponseSource: Sendable {
    case response(Handle<StoredResponse>)
    case request(Handle<RequestRecord>)

    /// Reads `response`, which names either.
    static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> ResponseSource? {
        guard let name: String = try fields.optional("response") else { return nil }
        if name.hasPrefix(HandleKind.response.rawValue) {
            return .response(try Handle<StoredResponse>(json: .string(name)))
        }
        return .request(try Handle<RequestRecord>(json: .string(name)))
    }

    /// The facts and the body of the response.
    struct Found: Sendable {
        var facts: ResponseFacts
        var body: ExchangeOutcome.Body
        var failure: HTTPFailure?
        var callbacks: (any ResponseCallbacks)?
    }

    /// Waits until the request is over.
    func found(_ call: Call<ClientScope>) async throws(RPCError) -> Found {
        switch self {
        case .response(let handle):
            let stored = try call.scope.handles.find(handle, "response")
            return Found(facts: stored.facts, body: .kept(stored.body))
        case .request(let handle):
            let record = try call.scope.handles.find(handle, "response")
            guard await record.exchange.reached(.finish), let outcome = record.exchange.outcome else {
                throw RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
            }
            if outcome.isWithoutItsBody {
                let reason =
                    if record.bodyStream.withLock({ $0 != nil }) {
                        "the body went to a stream: read it with stream.read"
                    } else if record.exchange.destination == .discard {
                        "the body was discarded"
                    } else {
                        "the body went to the call that asked for it: use data.start, or bodyTo"
                    }
                throw RPCError(
                    .wrongState, reason, data: ["pointer": .string("/response"), "state": .string("bodiless")])
            }
            return Found(
                facts: record.facts(outcome), body: outcome.body, failure: outcome.failure, callbacks: record.callbacks)
        }
    }
}
