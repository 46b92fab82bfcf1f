// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Gives the events that wait, for clients that would rather come for them than be sent them.
struct EventsNext: Method {
    static let name = "events.next"

    struct Params: JSONDecodable {
        /// Those of one request; without it, what this client is to decide.
        var request: Handle<RequestRecord>?
        var most: Int
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            request = try fields.optional("request")
            most = try fields.integer("max", in: 1...1000) ?? 100
            wait = try fields.number("wait", in: 0...600) ?? 30
            try fields.finish()
        }
    }

    struct Result: JSONEncodable {
        var taken: EventQueue.Taken

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.name("events")
                writer.array { writer in
                    for event in taken.events {
                        writer.object { writer in
                            writer.member("method", event.name)
                            writer.member("params", event.params)
                        }
                    }
                }
                writer.member("dropped", taken.dropped)
                writer.member("end", taken.isOver)
            }
        }
    }

    /// Of the events in one answer, unless the client can read less.
    private static let mostBytes = 1 << 20

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let scope = call.scope
        let queue: EventQueue
        if let request = params.request {
            let record = try scope.handles.find(request, "request")
            // without a queue, nothing was ever to wait
            guard let events = record.events else {
                return Result(taken: EventQueue.Taken(events: [], dropped: 0, isOver: record.exchange.outcome != nil))
            }
            queue = events.queue
        } else {
            queue = scope.inbox
        }
        let limit = call.peer.terms.maxMessageBytes.map { max(1, $0 - 4096) } ?? Self.mostBytes
        return Result(
            taken: try await queue.next(
                params.most, bytes: min(limit, Self.mostBytes), wait: params.wait, scope.service.engine))
    }
}
