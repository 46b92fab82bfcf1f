// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sends a request, and returns its response; after the head alone, if the body goes to a stream.
struct DataSend: InlineMethod {
    static let name = "data.send"

    static func call(_ params: consuming RequestParameters, _ call: Call<ClientScope>) async throws -> ResponseReply {
        if params.spec.shared?.plan.startsImmediately == false {
            throw RPCError(
                .invalidParams, "startImmediately false works only with data.start: this call waits for the response",
                data: ["pointer": .string("/startImmediately")])
        }
        if params.namesStream {
            let opened = try await StreamOpening.named(params, call, waits: true)
            guard let reply = opened.response else { throw DataCall.lost }
            return reply
        }
        let scope = call.scope
        let record = try await RequestRecord.make(consume params, call, RequestDraft.Use(isOfCall: true))
        let exchange = record.exchange
        // cancelled while the body was laid out
        if Task.isCancelled, !record.isDetached { exchange.cancel() } else { exchange.start() }
        await withTaskCancellationHandler {
            _ = await exchange.reached(.finish)
        } onCancel: {
            // a detached request does not end with the call
            if !record.isDetached { exchange.cancel() }
        }
        record.callEnded(scope)
        if Task.isCancelled {
            await record.events?.cutShort()
            // the next download to the same path may follow at once
            if exchange.isDownload, !record.isDetached { await Task { _ = await exchange.reached(.finish) }.value }
            if !record.isDetached { exchange.dropBody() }
            throw DataCall.cancelled
        }
        guard let outcome = exchange.takeOutcome() else {
            throw DataCall.lost
        }
        record.dropsBody(ifUnwanted: call)
        let terms = call.peer.terms
        return await record.reply(outcome, engine: scope.service.engine, terms: terms, raw: call.takesRaw(terms))
    }

    static func begin(
        _ params: inout RequestParameters, _ call: Call<ClientScope>, _ completion: @escaping CallCompletion
    ) throws(RPCError) -> (any InlineCall)? {
        guard let record = try RequestRecord.makeInline(&params, call) else { return nil }
        let begun = DataCall(record, call, completion)
        record.exchange.start()
        // a stored response has ended the exchange by now
        record.exchange.whenEnded { begun.ended() }
        return begun
    }
}
