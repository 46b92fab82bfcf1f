// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Waits for a request's response.
struct RequestWait: Method {
    static let name = "request.wait"

    enum Until: String, Sendable, CaseIterable { case response, finish }

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        var until: Until
        /// Seconds; as long as the request may take, if absent.
        var timeout: Double?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            until = try fields.choice("until") ?? .finish
            timeout = try fields.number("timeout", in: 0...86400)
            try fields.finish()
            self.request = try JSONFields.need("request", request)
        }
    }

    enum Result: JSONEncodable {
        case response(ResponseReply)
        case pending(RequestPhase)

        var raw: [UInt8]? {
            if case .response(let reply) = self { reply.raw } else { nil }
        }

        func encode(to writer: inout JSONWriter) {
            switch self {
            case .response(let reply): reply.encode(to: &writer)
            case .pending(let phase):
                writer.object { writer in
                    writer.member("pending", true)
                    writer.member("state", phase.rawValue)
                }
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let record = try call.scope.handles.find(params.request, "request")
        let exchange = record.exchange
        let milestone = params.until == .response ? Exchange.Milestone.response : .finish
        var isThere = await reached(milestone, exchange, params.timeout)
        // a retry may have replaced the head
        while isThere, params.timeout == nil, exchange.outcome == nil, exchange.snapshot.head == nil {
            isThere = await exchange.reached(milestone)
        }
        guard isThere else {
            if Task.isCancelled {
                throw RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
            }
            return .pending(exchange.snapshot.phase)
        }
        let outcome = exchange.outcome
        let redaction = record.redaction(for: call.scope)
        if params.until == .response, outcome?.failure == nil, let head = record.headReply(redaction) {
            return .response(head)
        }
        guard let outcome else { return .pending(exchange.snapshot.phase) }
        record.holding.withLock { $0.isAwaited = true }
        let engine = call.scope.service.engine
        let terms = call.peer.terms
        return .response(
            await record.reply(outcome, engine: engine, terms: terms, redaction, raw: call.takesRaw(terms)))
    }

    private static func reached(_ milestone: Exchange.Milestone, _ exchange: Exchange, _ timeout: Double?) async -> Bool
    {
        guard let timeout else { return await exchange.reached(milestone) }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await exchange.reached(milestone) }
            group.addTask {
                try? await Task.sleep(for: .seconds(timeout))
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }
}
