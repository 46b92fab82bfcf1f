// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A request whose body goes to streams, from the call to the reply that names the streams.
struct StreamOpening {
    var request: RequestParameters
    /// Whether the reply waits for the head of an acceptable response, or the end.
    var waits: Bool
    var hub: StreamFanout
    var outlet: StreamBodyConsumer
    /// Takes the body in place of the outlet, and feeds the hub.
    var taker: (any BodyOutlet & RequestParticipant)?
    /// Called when no stream is left; nil to end the exchange.
    var unwanted: (@Sendable (HTTPFailure) -> Void)?
    /// Gets the exchange before it begins.
    var made: (@Sendable (Exchange) -> Void)?

    /// - Parameter open: opens the streams, at least one.
    func start(
        _ call: Call<ClientScope>, _ open: () throws(RPCError) -> [ReadStream]
    ) async throws -> StreamOpened {
        let record = try await RequestRecord.make(
            request, call,
            RequestDraft.Use(isOfCall: false, eventsNameCall: waits, outlet: taker ?? outlet, guide: taker))
        let exchange = record.exchange
        hub.belongs(to: exchange)
        hub.whenUnwanted(
            unwanted ?? { [weak exchange] failure in
                exchange?.end(with: failure)
                // only a started exchange has a driver to end it
                exchange?.start()
            })
        made?(exchange)
        let streams: [ReadStream]
        do {
            streams = try open()
        } catch {
            hub.discard()
            record.refuse()
            throw error
        }
        record.streams.withLock { $0 = (call.scope.handles, streams.map(\.handle)) }
        if request.namesStream {
            let first = streams[0].handle
            record.bodyStream.withLock { $0 = RequestRecord.BodyStream(handle: first) }
        }
        // a connection that is opened again forgets the head
        outlet.whenBegun { [weak record, waits] in
            record?.bodyStream.withLock { $0?.hasBegun = true }
            return waits ? record?.exchange.headOutcome : nil
        }
        let engine = call.scope.service.engine
        let peer = call.peer
        record.events?.finish { [weak record] outcome, redaction in
            await record?.reply(outcome, engine: engine, terms: peer.terms, redaction)
        }
        call.ifUnwanted { [hub] in Task { await record.abandon(hub) } }
        var result = StreamOpened(
            request: record.handle, stream: streams[0].handle, also: streams.dropFirst().map(\.handle))
        let hub = hub
        guard waits else {
            call.afterReply {
                hub.release()
                exchange.launch()
            }
            return result
        }
        call.afterReply { hub.release() }
        // also in a session whose requests wait for request.resume: no call could resume this one
        exchange.start()
        guard let state = await outlet.reached() else {
            hub.discard()
            await record.abandon()
            throw RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
        }
        switch state {
        case .begun(let head): result.response = record.headReply(of: head)
        case .over(let outcome):
            // drop streams that a Response should have named, but did not
            if record.bodyStream.withLock({ $0?.hasBegun == false }) { streams.forEach { $0.discard() } }
            result.response = await record.reply(outcome, engine: engine, terms: peer.terms)
        }
        return result
    }
}
