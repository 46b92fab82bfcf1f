// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens an event stream, and reopens the stream when its connection ends.
struct SSEOpen: Method {
    static let name = "sse.open"

    struct Params: JSONDecodable {
        var request: RequestParameters
        var mode = StreamMachine.Mode.pull
        var isBatched = false
        var style = EventItems.Style()
        var lastEventID: String?
        var policy = ReconnectPolicy()
        var mostEventBytes = EventStreamScanner.defaultLimit
        var waits = false

        init(json: JSONValue) throws(JSONComplaint) {
            var own = Own()
            request = try RequestParameters(json: json) { fields throws(JSONComplaint) in try own.read(&fields) }
            mode = own.mode
            isBatched = own.isBatched
            style = own.style
            // a single event per message has the complete form
            if mode != .pull, !isBatched { style.isCompact = false }
            lastEventID = own.lastEventID
            mostEventBytes = own.mostEventBytes
            waits = own.wait != nil
            try request.judgesHeadOnly()
            if waits, request.startsImmediately == false {
                throw JSONComplaint(
                    "wait and startImmediately false exclude each other: wait needs a started request",
                    at: JSONPointer(member: "wait"))
            }
            // null counts as absent
            let isSaid = json.object?["method"]?.string != nil
            if !isSaid, !request.spec.body.isNone { request.spec.method = "POST" }
            if request.spec.method == "HEAD" {
                throw JSONComplaint(
                    "method must not be HEAD: events come in the body of a response", at: JSONPointer(member: "method"))
            }
            policy = own.reconnect?.policy ?? ReconnectPolicy()
            // a request that is not idempotent is not repeated without the client's consent (RFC 9110 section 9.2.2)
            if own.reconnect?.isSaid != true { policy.isEnabled = RetryPolicy().methods.contains(request.spec.method) }
            prepareFields()
            request.isQuiet = true
        }

        /// Adds the fields of an event source (WHATWG HTML section 9.2.2), unless the request sets others.
        private mutating func prepareFields() {
            var fields = request.spec.fields
            if let id = fields.first("Last-Event-ID") {
                lastEventID = lastEventID ?? id
                fields.remove("Last-Event-ID")
            }
            if !fields.contains("Accept") { fields.add("Accept", EventSourceMachine.mediaType) }
            if !fields.contains("Cache-Control") { fields.add("Cache-Control", "no-store") }
            request.spec.fields = fields
        }
    }

    /// The parameters beyond those of other requests.
    private struct Own {
        var mode = StreamMachine.Mode.pull
        var isBatched = false
        var style = EventItems.Style()
        var lastEventID: String?
        var reconnect: ReconnectParameter?
        var mostEventBytes = EventStreamScanner.defaultLimit
        var wait: StreamOpen.Wait?

        mutating func read(_ fields: inout JSONFields) throws(JSONComplaint) {
            mode = try StreamMachine.Mode(&fields)
            isBatched = try fields.optional("batch") ?? false
            style.isCompact = try fields.optional("compact") ?? false
            style.parsesJSON = try fields.optional("json") ?? false
            lastEventID = try fields.optional("lastEventId")
            reconnect = try fields.optional("reconnect")
            mostEventBytes = try fields.integer("maxEventBytes", in: 1...16_777_216) ?? mostEventBytes
            wait = try fields.choice("wait")
            if lastEventID.map({ FieldRules.fault(inField: "Last-Event-ID", $0) != nil }) == true {
                throw JSONComplaint(
                    "lastEventId must not hold line breaks or control characters",
                    at: JSONPointer(member: "lastEventId"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> StreamOpened {
        let hub = StreamFanout(call.peer, monitor: call.scope.service.engine.monitor)
        let outlet = StreamBodyConsumer(hub)
        let memory = EventStreamMemory(lastEventID: params.lastEventID ?? "")
        let source = EventSource(hub, outlet, params.policy, memory)
        let items = EventItems(params.style, limit: params.mostEventBytes, memory)
        return try await StreamOpening(
            request: params.request, waits: params.waits, hub: hub, outlet: outlet, taker: source
        )
        .start(call) { () throws(RPCError) in
            [try hub.open(items, as: .serverSentEvents, params.mode, isBatched: params.isBatched, in: call)]
        }
    }
}
