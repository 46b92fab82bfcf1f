// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Starts a request whose body goes to a stream, or to several.
struct StreamOpen: Method {
    static let name = "stream.open"

    enum Wait: String, Sendable, CaseIterable { case response }

    struct Params: JSONDecodable {
        var request: RequestParameters
        var stream: StreamOptions
        /// More streams of the same body.
        var also: [StreamOptions] = []
        var cancelsOnError = false
        var wait: Wait?

        init(json: JSONValue) throws(JSONComplaint) {
            var stream: StreamOptions?
            var also: [StreamOptions] = []
            var cancels: Bool?
            var wait: Wait?
            request = try RequestParameters(json: json) { fields throws(JSONComplaint) in
                stream = try StreamOptions(&fields)
                also = try fields.optional("also") { $0.count > 15 ? "must hold at most 15 streams" : nil } ?? []
                cancels = try fields.optional("cancelOnError")
                wait = try fields.choice("wait")
            }
            self.stream = stream ?? StreamOptions()
            self.also = also
            cancelsOnError = cancels ?? false
            self.wait = wait
            try request.judgesHeadOnly()
            if wait != nil, request.startsImmediately == false {
                throw JSONComplaint(
                    "wait and startImmediately false exclude each other: wait needs a started request",
                    at: JSONPointer(member: "wait"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> StreamOpened {
        let hub = StreamFanout(
            call.peer, cancelsOnError: params.cancelsOnError, monitor: call.scope.service.engine.monitor)
        let outlet = StreamBodyConsumer(hub)
        return try await StreamOpening(request: params.request, waits: params.wait != nil, hub: hub, outlet: outlet)
            .start(call) { () throws(RPCError) in
                try ([params.stream] + params.also).map { options throws(RPCError) in try options.open(hub, call) }
            }
    }
}
