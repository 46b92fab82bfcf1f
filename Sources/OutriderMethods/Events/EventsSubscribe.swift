// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tells a client what happens to its requests, from now on.
struct EventsSubscribe: Method {
    static let name = "events.subscribe"

    struct Params: JSONDecodable {
        var topics: [TopicPattern]
        var session: SessionReference?
        var request: Handle<RequestRecord>?
        var isPulled: Bool
        var config = Subscription.Machine.Config()

        private static let mostTopics = 64

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let patterns = try fields.optional("topics", as: [String].self) { patterns in
                (1...Self.mostTopics).contains(patterns.count) ? nil : "must hold 1 to \(Self.mostTopics) topics"
            }
            session = try fields.optional("session")
            request = try fields.optional("request")
            isPulled = try fields.optional("pull") ?? false
            config.queue = try fields.integer("queue", in: 1...10_000) ?? 1000
            config.drop = try fields.choice("drop") ?? .oldest
            config.window = try fields.integer("window", in: 1...1000)
            try fields.finish()
            topics = try JSONFields.need("topics", patterns).map(TopicPattern.init)
            if session != nil, request != nil {
                throw JSONComplaint("give request or session, not both", at: JSONPointer(member: "session"))
            }
        }
    }

    struct Result: JSONEncodable {
        var subscription: Handle<Subscription>
        var topics: TopicSet

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("subscription", subscription)
                writer.member("topics", topics.topics.map(\.name))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let scope = call.scope
        let topics = try topics(params.topics)
        let about: Subscription.Scope
        if let request = params.request {
            _ = try scope.handles.find(request, "request")
            about = .request(request.name)
        } else if let session = params.session {
            about = .session(try session.resolved(scope)?.title)
        } else {
            about = .own
        }
        let board = scope.service.monitors
        let subscription = Subscription(
            topics, about, owner: scope.owner, config: params.config, isPulled: params.isPulled, board)
        try scope.handles.keep(subscription, as: subscription.handle)
        board.add(subscription)
        if !params.isPulled {
            let peer = call.peer
            call.afterReply { subscription.start(peer, scope.service.engine) }
        }
        return Result(subscription: subscription.handle, topics: topics)
    }

    /// Throws invalidParams for a pattern that names nothing, with the names that look like it.
    private static func topics(_ patterns: [TopicPattern]) throws(RPCError) -> TopicSet {
        var all = TopicSet()
        for (index, pattern) in patterns.enumerated() {
            let topics = pattern.topics
            guard topics.isEmpty else {
                all.formUnion(topics)
                continue
            }
            let near = NearNames.of(pattern.text, among: MonitorTopic.allCases.map(\.name))
            var data: JSONObject = ["pointer": .string("/topics/\(index)")]
            if !near.isEmpty { data["near"] = .array(near.map { .string($0) }) }
            let question = near.first.map { "; did you mean \($0)?" } ?? "; events.topics lists all"
            throw RPCError(.invalidParams, "no topic is called \(pattern.text.prefix(80))\(question)", data: data)
        }
        return all
    }
}

/// The params of a method about one subscription.
struct SubscriptionReference: JSONDecodable {
    var subscription: Handle<Subscription>

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let subscription: Handle<Subscription>? = try fields.optional("subscription")
        try fields.finish()
        self.subscription = try JSONFields.need("subscription", subscription)
    }
}

/// Ends a subscription: no event of it follows the reply.
struct EventsUnsubscribe: Method {
    static let name = "events.unsubscribe"

    struct Result: JSONEncodable {
        var told: Int
        var dropped: Int

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("told", told)
                writer.member("dropped", dropped)
            }
        }
    }

    static func call(_ params: SubscriptionReference, _ call: Call<ClientScope>) async throws -> Result {
        let subscription = try call.scope.handles.find(params.subscription, "subscription")
        call.scope.handles.remove(params.subscription)
        await subscription.end()
        let counts = subscription.counts
        return Result(told: counts.told, dropped: counts.dropped)
    }
}

/// Says how far a client has dealt with the events of a subscription that has a window.
struct EventsAck: Method {
    static let name = "events.ack"

    struct Params: JSONDecodable {
        var subscription: Handle<Subscription>
        var number: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let subscription: Handle<Subscription>? = try fields.optional("subscription")
            let number = try fields.integer("seq", in: 0...9_007_199_254_740_992)
            try fields.finish()
            self.subscription = try JSONFields.need("subscription", subscription)
            self.number = try JSONFields.need("seq", number)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let subscription = try call.scope.handles.find(params.subscription, "subscription")
        switch subscription.acknowledge(params.number) {
        case true?: return JSONNothing()
        case false?:
            throw RPCError(
                .invalidParams, "event \(params.number) has not been given yet", data: ["pointer": .string("/seq")])
        case nil:
            throw RPCError(
                .wrongState, "nothing is to be acknowledged here: subscribe with window for that",
                data: ["pointer": .string("/subscription"), "state": .string("unbounded")])
        }
    }
}

/// Lists the topics: what each is about, and what its detail holds.
struct EventsTopics: Method {
    static let name = "events.topics"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> JSONText { topics }

    private static let topics = JSONText(
        written: Array(
            UnsafeBufferPointer(
                start: MonitorTopics.document.utf8Start, count: MonitorTopics.document.utf8CodeUnitCount)))
}
