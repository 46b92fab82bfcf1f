// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens a WebSocket.
struct WebSocketOpen: Method {
    static let name = "websocket.open"

    struct Params: JSONDecodable {
        var request: RequestParameters
        var options = WebSocketSource.Options()
        var mode = StreamMachine.Mode.pull
        var isBatched = false
        var style = MessageItems.Style()
        var waits = true

        init(json: JSONValue) throws(JSONComplaint) {
            var own = WebSocketOpen.Own()
            for name in Self.refused {
                guard let value = json.object?[name], value != .null else { continue }
                throw JSONComplaint(
                    "the handshake of a WebSocket is a GET request without a body: leave \(name) out",
                    at: JSONPointer(member: name))
            }
            if let most = json.object?["maxBody"], most != .null {
                throw JSONComplaint(
                    "a WebSocket has no body: limit its messages with maxMessage, and leave maxBody out",
                    at: JSONPointer(member: "maxBody"))
            }
            do throws(JSONComplaint) {
                request = try RequestParameters(json: json) { fields throws(JSONComplaint) in try own.read(&fields) }
            } catch {
                throw Self.known(error)
            }
            (options, mode, isBatched, style) = (own.options, own.mode, own.isBatched, own.style)
            // a single message per event is an object
            if mode != .pull, !isBatched { style.isCompact = false }
            let mayMiss = options.reconnect.isEnabled || options.overflow == .dropOldest
            options.tellsStates = own.tellsStates ?? (mode != .pull || mayMiss)
            try request.judgesHeadOnly()
            try check()
            waits = own.waits ?? (request.startsImmediately != false)
            if waits, request.startsImmediately == false {
                throw JSONComplaint(
                    "wait and startImmediately false exclude each other: no call could resume the request that this one "
                        + "waits for", at: JSONPointer(member: "wait"))
            }
            request.spec.url = Self.plain(request.spec.url)
        }

        /// Members that other requests have.
        private static let absent: Set<String> = [
            "method", "body", "parameters", "encoding", "compress", "expectContinue", "allowGetBody",
            "maxBody",
        ]

        /// The absent members of a body that nothing else refuses; `check` does the others.
        private static let refused = ["parameters", "encoding", "compress", "expectContinue", "allowGetBody"]

        /// The same complaint; lists of known names lack the members that a handshake does not have.
        private static func known(_ complaint: JSONComplaint) -> JSONComplaint {
            var complaint = complaint
            if complaint.known?.contains("backlog") == true { complaint.known?.removeAll { absent.contains($0) } }
            return complaint
        }

        /// A handshake is a GET without a body, whose fields are written here (RFC 6455 section 4.1).
        private func check() throws(JSONComplaint) {
            if request.spec.method != "GET" {
                throw JSONComplaint(
                    "the handshake of a WebSocket is a GET request: leave method out", at: JSONPointer(member: "method")
                )
            }
            if !request.spec.body.isNone {
                throw JSONComplaint(
                    "the handshake of a WebSocket has no body: send messages with greeting or websocket.send",
                    at: JSONPointer(member: "body"))
            }
            if request.httpVersion == .http2 {
                throw JSONComplaint(
                    "the handshake of a WebSocket is a request of HTTP/1.1: leave httpVersion out, or give \"1.1\"",
                    at: JSONPointer(member: "httpVersion"))
            }
            for (index, field) in request.spec.fields.list.enumerated() {
                let reserved = WebSocketHandshake.reservedFields.first { HTTPFields.same($0, field.name) }
                guard let name = reserved else { continue }
                let remedy =
                    switch name {
                    case "Sec-WebSocket-Protocol": "use protocols"
                    case "Sec-WebSocket-Extensions": "use compression"
                    default: "leave it out"
                    }
                let place = request.listsHeaders ? JSONPointer(index: index) : JSONPointer(member: field.name)
                throw JSONComplaint(
                    "headers must not hold \(name), which the handshake writes: \(remedy)",
                    at: place.under(member: "headers"))
            }
        }

        /// ws and wss are http and https of the same host and port, for credentials, cookies and proxies too.
        private static func plain(_ url: String) -> String {
            let scheme = url.prefix { $0 != ":" }
            switch scheme.lowercased() {
            case "ws": return "http" + url.dropFirst(scheme.count)
            case "wss": return "https" + url.dropFirst(scheme.count)
            default: return url
            }
        }
    }

    /// The parameters beyond those of other requests.
    fileprivate struct Own {
        var options = WebSocketSource.Options()
        var mode = StreamMachine.Mode.pull
        var isBatched = false
        var style = MessageItems.Style()
        var tellsStates: Bool?
        var waits: Bool?

        mutating func read(_ fields: inout JSONFields) throws(JSONComplaint) {
            mode = try StreamMachine.Mode(&fields)
            isBatched = try fields.optional("batch") ?? false
            style.isCompact = try fields.optional("compact") ?? false
            style.parsesJSON = try fields.optional("json") ?? false
            tellsStates = try fields.optional("states")
            waits = try fields.optional("wait")
            var offered: Set<String> = []
            let protocols = try fields.texts("protocols", most: 64) { name in
                if let fault = WebSocketHandshake.fault(inProtocol: name) { return fault }
                return offered.insert(name).inserted ? nil : "must not repeat \(FieldRules.shown(name))"
            }
            options.protocols = protocols ?? []
            if let compression: CompressionParameter = try fields.optional("compression") {
                options.deflate = compression.offer
            }
            if let most = try fields.integer("maxMessage", in: 1...67_108_864) { options.maxMessage = most }
            if let most = try fields.integer("backlog", in: 1024...16_777_216) { options.backlog = most }
            options.overflow = try fields.choice("overflow") ?? .wait
            if let ping: KeepAliveParameter = try fields.optional("ping") { options.keepAlive = ping.settings }
            if let reconnect: SocketReconnectParameter = try fields.optional("reconnect") {
                options.reconnect = reconnect.policy
            }
            let greeting: [MessageParameter] =
                try fields.optional("greeting") { $0.count > 64 ? "must hold at most 64 messages" : nil } ?? []
            options.greeting = greeting.map(\.message)
        }
    }

    struct Result: ObjectShape {
        var request: Handle<RequestRecord>
        /// Nil if the WebSocket was refused.
        var stream: Handle<ReadStream>?
        var agreement: WebSocketHandshake.Agreement?
        var response: ResponseReply?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("request", request)
            writer.member("stream", stream)
            writer.member("protocol", agreement?.subprotocol)
            writer.member("extensions", agreement?.extensions)
            writer.member("response", response)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let engine = call.scope.service.engine
        let hub = StreamFanout(call.peer, monitor: engine.monitor)
        let outlet = StreamBodyConsumer(hub)
        let source = WebSocketSource(params.options, hub, outlet, engine, quota: call.scope.quota)
        let opening = StreamOpening(
            request: params.request, waits: params.waits, hub: hub, outlet: outlet, taker: source,
            unwanted: { [weak source] in source?.leave($0) }, made: { source.belongs(to: $0) })
        var streams: [ReadStream] = []
        let opened = try await opening.start(call) { () throws(RPCError) in
            let stream = try hub.open(
                MessageItems(params.style), as: .messages, params.mode, isBatched: params.isBatched, in: call)
            stream.join(source)
            streams = [stream]
            return streams
        }
        var result = Result(request: opened.request, stream: opened.stream, response: opened.response)
        guard params.waits else { return result }
        result.agreement = source.agreement
        if !source.wasOpen {
            result.stream = nil
            streams.forEach { $0.discard() }
        }
        return result
    }
}
