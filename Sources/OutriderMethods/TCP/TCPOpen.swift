// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens a stream of bytes both ways: TCP, TLS over TCP, or a Unix socket.
struct TCPOpen: Method {
    static let name = "tcp.open"

    struct Params: JSONDecodable {
        var request: RequestParameters
        var endpoint: HTTPURL
        var tls: DuplexTLS
        var stream: StreamOptions

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let place = try TCPEndpoint(&fields)
            let tls: TCPSecurityParameter? = try fields.optional("tls")
            stream = try StreamOptions(&fields)
            let common = TCPOpen.common(&fields)
            try fields.finish()
            var url = try place.url()
            if tls?.tls != nil { url.scheme = .tls }
            if url.isSecure, url.socketPath != nil, tls?.tls?.serverName == nil {
                throw JSONComplaint(
                    "tls over a Unix socket needs the name that the certificate is for: add serverName",
                    at: JSONPointer(member: "tls"))
            }
            (endpoint, self.tls) = (url, tls?.tls ?? DuplexTLS())
            var members: JSONObject = ["url": .string(url.description), "method": .string("CONNECT")]
            for (name, value) in common { members[name] = value }
            // a number of seconds limits opening alone: a stream may last for days
            if let seconds = members["timeout"], seconds.number != nil {
                do throws(JSONComplaint) {
                    _ = try TimeoutParameter(json: seconds)
                } catch {
                    throw error.under(member: "timeout")
                }
                members["timeout"] = .object(["resolve": seconds, "connect": seconds, "tls": seconds])
            }
            request = try RequestParameters(json: .object(members)) { _ in }
        }
    }

    /// Reads the members that streams share with requests.
    private static func common(_ fields: inout JSONFields) -> [(String, JSONValue)] {
        [
            ("proxy", fields.value("proxy")), ("session", fields.value("session")),
            ("timeout", fields.value("timeout")), ("addresses", fields.value("addresses")),
            ("retry", fields.value("retry")), ("events", fields.value("events")), ("tag", fields.value("tag")),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    struct Result: ObjectShape {
        var request: Handle<RequestRecord>
        var stream: Handle<ReadStream>?
        var opening: TCPStream.Opening?
        var failure: HTTPFailure?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("ok", stream != nil)
            writer.member("request", request)
            writer.member("stream", stream)
            if let opening {
                writer.member("remote", opening.timeline.remote)
                if let security = opening.security { writer.member("tls", TCPSecurityShape(security: security)) }
                writer.member("timings", TimelineShape(timeline: opening.timeline, version: nil))
            }
            if let failure { writer.member("error", FailureShape(failure)) }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let engine = call.scope.service.engine
        let hub = StreamFanout(call.peer, monitor: engine.monitor)
        let connection = TCPStream(to: params.endpoint, hub, call.peer)
        let outlet = TCPOutlet(hub, connection)
        var request = params.request
        request.spec.duplex = Duplex(params.endpoint, tls: params.tls, feed: connection.upload, owner: connection)
        let record = try await RequestRecord.make(
            request, call, RequestDraft.Use(isOfCall: false, eventsNameCall: true, outlet: outlet))
        let exchange = record.exchange
        hub.belongs(to: exchange)
        hub.whenUnwanted { [weak exchange] in exchange?.end(with: $0) }
        let stream: ReadStream
        do {
            stream = try params.stream.open(hub, call)
        } catch {
            record.refuse()
            throw error
        }
        record.streams.withLock { $0 = (call.scope.handles, [stream.handle]) }
        connection.join(stream, exchange)
        let peer = call.peer
        record.events?.finish { [weak record] outcome, redaction in
            await record?.reply(outcome, engine: engine, terms: peer.terms, redaction)
        }
        call.afterReply { hub.release() }
        call.ifUnwanted { Task { await record.abandon(hub) } }
        // also in a session whose requests wait for request.resume: no call could resume this one
        exchange.start()
        switch await outlet.outlet.reached() {
        case nil:
            hub.discard()
            await record.abandon()
            throw RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
        case .begun:
            return Result(request: record.handle, stream: stream.handle, opening: connection.opening)
        case .over(let outcome):
            stream.discard()
            let lost = HTTPFailure(.connectionLost, "the stream ended as soon as it was open", phase: .connect)
            return Result(request: record.handle, failure: outcome.failure ?? lost)
        }
    }
}
