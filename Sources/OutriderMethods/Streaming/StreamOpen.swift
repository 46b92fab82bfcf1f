// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Starts a request whose body comes as a stream, or as several.
struct StreamOpen: Method {
    static let name = "stream.open"

    enum Wait: String, Sendable, CaseIterable { case response }

    struct Params: JSONDecodable {
        var request: RequestParameters
        var stream: StreamWish
        /// More streams of the same body.
        var also: [StreamWish] = []
        var cancelsOnError = false
        var wait: Wait?

        init(json: JSONValue) throws(JSONComplaint) {
            var stream: StreamWish?
            var also: [StreamWish] = []
            var cancels: Bool?
            var wait: Wait?
            request = try RequestParameters(json: json) { fields throws(JSONComplaint) in
                stream = try StreamWish(&fields)
                also = try fields.optional("also") { $0.count > 15 ? "must hold at most 15 streams" : nil } ?? []
                cancels = try fields.optional("cancelOnError")
                wait = try fields.choice("wait")
            }
            self.stream = stream ?? StreamWish()
            self.also = also
            cancelsOnError = cancels ?? false
            self.wait = wait
            try request.judgesHeadOnly()
            if wait != nil, request.startsImmediately == false {
                throw JSONComplaint(
                    "wait and startImmediately false exclude each other: nobody could resume what this call waits for",
                    at: JSONPointer(member: "wait"))
            }
        }
    }

    struct Result: JSONEncodable {
        var request: Handle<RequestRecord>
        var stream: Handle<ReadStream>
        var also: [Handle<ReadStream>]
        var response: ResponseReply?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("request", request)
                writer.member("stream", stream)
                if !also.isEmpty { writer.member("also", also) }
                writer.member("response", response)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let hub = StreamHub(call.peer, cancelsOnError: params.cancelsOnError)
        let outlet = StreamOutlet(hub)
        let record = try await RequestRecord.make(
            params.request, call, isOfCall: false, eventsNameCall: params.wait != nil, outlet: outlet)
        let exchange = record.exchange
        hub.whenUnwanted { [weak exchange] in exchange?.end(with: $0) }
        let streams: [Handle<ReadStream>]
        do {
            streams = try ([params.stream] + params.also).map { wish in try wish.open(hub, call).handle }
        } catch {
            record.forget()
            throw error
        }
        let engine = call.scope.service.engine
        let peer = call.peer
        record.events?.finish { [weak record] outcome in
            await record?.reply(outcome, engine: engine, terms: peer.terms)
        }
        var result = Result(request: record.handle, stream: streams[0], also: Array(streams.dropFirst()))
        guard params.wait != nil else {
            call.afterReply {
                hub.release()
                exchange.launch()
            }
            return result
        }
        call.afterReply { hub.release() }
        exchange.launch()
        guard let state = await outlet.reached() else {
            record.forget()
            throw RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
        }
        switch state {
        case .begun: result.response = record.headReply()
        case .over(let outcome): result.response = await record.reply(outcome, engine: engine, terms: peer.terms)
        }
        return result
    }
}

extension RequestParameters {
    /// Judges the answer before its first byte goes to a stream. Refuses what can be judged only afterwards.
    fileprivate mutating func judgesHeadOnly() throws(JSONComplaint) {
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
