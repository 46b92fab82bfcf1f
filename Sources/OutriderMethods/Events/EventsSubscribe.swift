// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Subscribes a client to topics about its requests, from now on.
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

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let scope = call.scope
        let topics = try topics(params.topics)
        let about: Subscription.Scope
        if let request = params.request {
            about = .request(try scope.handles.find(request, "request").handle.name)
        } else if let session = params.session {
            about = .session(try session.resolved(scope)?.title)
        } else {
            about = .own
        }
        let board = scope.service.monitors
        let subscription = Subscription(
            topics, about, owner: scope.owner, config: params.config, isPulled: params.isPulled, quota: scope.quota,
            board)
        try scope.handles.keep(subscription, as: subscription.handle)
        board.add(subscription)
        if !params.isPulled {
            let peer = call.peer
            call.afterReply { subscription.start(peer, scope.service.engine) }
        }
        return ReplyMembers { writer in
            writer.member("subscription", subscription.handle)
            writer.member("topics", topics.topics.map(\.name))
        }
    }

    /// Throws invalidParams for a pattern without a match, with similar names.
    private static func topics(_ patterns: [TopicPattern]) throws(RPCError) -> TopicSet {
        var all = TopicSet()
        for (index, pattern) in patterns.enumerated() {
            let topics = pattern.topics
            guard topics.isEmpty else {
                all.formUnion(topics)
                continue
            }
            let names = MonitorTopic.allCases.map(\.name)
            let families = Set(names.compactMap { name in name.split(separator: ".").first.map { "\($0).*" } })
            let near = NameSuggestions.of(pattern.text, among: names + families.sorted())
            var data: JSONObject = ["pointer": .string("/topics/\(index)")]
            if !near.isEmpty { data["near"] = .array(near.map { .string($0) }) }
            let suggestion = near.first.map { "; did you mean \($0)?" } ?? "; events.topics lists all"
            throw RPCError(.invalidParams, "no topic is called \(pattern.text.prefix(80))\(suggestion)", data: data)
        }
        return all
    }
}
