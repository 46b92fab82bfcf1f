// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns waiting events, of a request or a subscription, or this client's decisions; for clients that fetch events.
struct EventsNext: Method {
    static let name = "events.next"

    struct Params: JSONDecodable {
        /// The source of the events; without a request or subscription, this client's decisions.
        var request: Handle<RequestRecord>?
        var subscription: Handle<Subscription>?
        var most: Int
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            request = try fields.optional("request")
            subscription = try fields.optional("subscription")
            most = try fields.integer("max", in: 1...1000) ?? 100
            wait = try fields.number("wait", in: 0...600) ?? 30
            try fields.finish()
            if request != nil, subscription != nil {
                throw JSONComplaint(
                    "give request or subscription, not both", at: JSONPointer(member: "subscription"))
            }
        }
    }

    struct Result: ObjectShape {
        var taken: EventQueue.Taken

        func encodeMembers(to writer: inout JSONWriter) {
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

    /// The most bytes of events in a reply, unless the client can read less.
    private static let mostBytes = 1 << 20

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let scope = call.scope
        let limit = min(call.peer.terms.maxResultBytes ?? Self.mostBytes, Self.mostBytes)
        let isReadable = readable(call)
        if let name = params.subscription?.name,
            let watch = try? scope.handles.find(Handle<ReachabilitySubscription>(named: name), "subscription")
        {
            guard let queue = watch.queue else { throw Self.pushed }
            return Result(
                taken: try await queue.next(
                    params.most, bytes: limit, wait: params.wait, scope.service.engine, isReadable: isReadable))
        }
        if let subscription = params.subscription {
            return try await next(of: try scope.handles.find(subscription, "subscription"), params, limit, call)
        }
        let queue: EventQueue
        if let request = params.request {
            let record = try scope.handles.find(request, "request")
            // without a queue no event will wait, and a client that polls until the end must not poll in vain
            guard let events = record.events else {
                return Result(taken: EventQueue.Taken(events: [], dropped: 0, isOver: true))
            }
            queue = record.isGiven(by: scope) ? events.queue : events.sharedQueue
        } else {
            queue = scope.inbox
        }
        return Result(
            taken: try await queue.next(
                params.most, bytes: limit, wait: params.wait, scope.service.engine, isReadable: isReadable))
    }

    /// Whether the client can read a reply with that event alone: an error in place of the reply would lose the event
    /// unseen, or meet a subscription with a window again and again.
    private static func readable(_ call: Call<ClientScope>) -> @Sendable (Event) -> Bool {
        guard let most = call.peer.terms.maxMessageBytes else { return { _ in true } }
        // 128 for the text around the name and the params
        let room = most &- 128 &- (call.id.map { JSONWriter.bytes(of: $0).count } ?? 0)
        return { $0.name.utf8.count &+ $0.params.bytes.count <= room }
    }

    private static var pushed: RPCError {
        RPCError(
            .wrongState, "the events of this subscription are sent; subscribe with pull to come for them",
            data: ["pointer": .string("/subscription"), "state": .string("pushed")])
    }

    private static func next(
        of subscription: Subscription, _ params: Params, _ limit: Int, _ call: Call<ClientScope>
    ) async throws -> Result {
        guard subscription.isPulled else { throw pushed }
        let engine = call.scope.service.engine
        switch try await subscription.next(
            params.most, bytes: limit, wait: params.wait, engine, isReadable: readable(call))
        {
        case .events(let events, let dropped, let isOver):
            return Result(taken: EventQueue.Taken(events: events, dropped: dropped, isOver: isOver))
        case .busy:
            throw RPCError(
                .wrongState, "another events.next waits for this subscription; one at a time",
                data: ["pointer": .string("/subscription"), "state": .string("awaited")])
        }
    }
}
