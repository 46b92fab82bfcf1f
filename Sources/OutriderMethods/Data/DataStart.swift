// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Starts a request, and returns its handle at once.
struct DataStart: Method {
    static let name = "data.start"

    struct Result: ObjectShape {
        var request: Handle<RequestRecord>
        /// The stream for the body, if the request chose a stream.
        var stream: Handle<ReadStream>?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("request", request)
            writer.member("stream", stream)
        }
    }

    static func call(_ params: RequestParameters, _ call: Call<ClientScope>) async throws -> Result {
        if params.namesStream {
            let opened = try await StreamOpening.named(params, call, waits: false)
            return Result(request: opened.request, stream: opened.stream)
        }
        let engine = call.scope.service.engine
        let record = try await RequestRecord.make(params, call, RequestDraft.Use(isOfCall: false))
        let peer = call.peer
        record.events?.finish { [weak record] outcome, redaction in
            await record?.reply(outcome, engine: engine, terms: peer.terms, redaction)
        }
        // a detached request does not end with the call
        if !record.isDetached { call.ifUnwanted { Task { await record.abandon() } } }
        if params.spec.shared?.plan.startsImmediately == false { return Result(request: record.handle) }
        // with events, not before the reply that names the handle; without, at once
        if record.events == nil {
            record.exchange.launch()
        } else {
            call.afterReply { record.exchange.launch() }
            // if the client is gone, the reply is lost, but a detached request continues
            if record.isDetached { _ = engine.later(seconds: 1) { record.exchange.launch() } }
        }
        return Result(request: record.handle)
    }
}
