// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The params of an event about a request.
struct RequestEventShape: ObjectShape {
    /// The members that identify the request.
    struct Names: Sendable {
        var request: String
        /// The call that waits for the request; only of `data.send`.
        var call: RequestID?
        var tag: String?
    }

    enum Content: Sendable {
        case state(RequestPhase, WallTime)
        case response(ExchangeHead, String, Int)
        case redirect(RedirectHop, Int)
        case retry(Int, Double, HTTPFailure?)
        case progress(ProgressReport)
        case finish(ResponseReply)
        case decision(DecisionShape)
    }

    var names: Names
    /// Counted per request, from 0.
    var number: Int
    var content: Content

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("request", names.request)
        writer.member("call", names.call)
        writer.member("tag", names.tag)
        writer.member("seq", number)
        switch content {
        case .state(let phase, let time):
            writer.member("state", phase.rawValue)
            writer.member("at", TimeShape(time))
        case .response(let head, let url, let attempt):
            writer.member("status", head.status)
            writer.member("headers", FieldsShape(head.fields))
            writer.member("url", url)
            writer.member("attempt", attempt)
        case .redirect(let hop, let attempt):
            writer.member("status", hop.status)
            writer.member("from", hop.from)
            writer.member("to", hop.to)
            if !hop.dropped.isEmpty { writer.member("dropped", hop.dropped) }
            writer.member("attempt", attempt)
        case .retry(let attempt, let delay, let failure):
            writer.member("attempt", attempt)
            writer.member("delay", delay)
            if let failure { writer.member("error", FailureShape(failure)) }
        case .progress(let report): ProgressShape(report).encodeMembers(to: &writer)
        case .finish(let reply): writer.member("response", reply)
        case .decision(let decision): decision.encodeMembers(to: &writer)
        }
    }
}
