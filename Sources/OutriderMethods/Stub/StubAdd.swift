// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Adds a stub to a session.
struct StubAdd: Method {
    static let name = "stub.add"

    private static let mostReplies = 1000

    struct Params: JSONDecodable {
        var session: SessionReference?
        var rule: StubRule
        var replies: [StubReplyParameter]
        /// Whether the call gives a list.
        var isList: Bool
        var unmatched: StubTable.Unmatched?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            session = try fields.optional("session")
            let method: String? = try fields.optional("method") { (method: String) in
                FieldRules.fault(inComparedMethod: method)
            }
            let url: String? = try fields.optional("url")
            let query: JSONObject? = try fields.optional("query")
            let headers: FieldsParameter? = try fields.optional("headers")
            let body = fields.value("body")
            let times = try fields.integer("times", in: 1...1_000_000)
            let after: String? = try fields.optional("after")
            let every = try fields.integer("every", in: 1...1_000_000)
            let response: StubReplyParameter? = try fields.optional("response")
            let responses: [StubReplyParameter]? = try fields.optional("responses") { (list: [StubReplyParameter]) in
                list.isEmpty || list.count > mostReplies ? "must hold 1 to \(mostReplies)" : nil
            }
            let fault: FaultParameter? = try fields.optional("fault")
            unmatched = try fields.choice("unmatched")
            try fields.finish()
            let present = [response != nil, responses != nil, fault != nil].count { $0 }
            guard present == 1 else { throw JSONComplaint("must have exactly one of response, responses and fault") }
            isList = responses != nil
            replies = responses ?? [response ?? fault.map { StubReplyParameter(fault: $0) }].compactMap { $0 }
            rule = StubRule(url: try Self.pattern(try JSONFields.need("url", url)), replies: [])
            rule.method = method
            rule.query = try Self.pairs(query)
            rule.fields = headers?.fields ?? []
            rule.body = body
            rule.times = times
            rule.after = after
            rule.every = every ?? 1
        }

        private static func pattern(_ text: String) throws(JSONComplaint) -> URLPattern {
            do throws(PatternFault) {
                return try URLPattern(text)
            } catch {
                throw JSONComplaint("url \(error.message)", at: JSONPointer(member: "url"))
            }
        }

        private static func pairs(_ query: JSONObject?) throws(JSONComplaint) -> [(name: String, value: String)] {
            var pairs: [(name: String, value: String)] = []
            for member in query?.members ?? [] {
                guard let value = member.value.string else {
                    throw JSONComplaint(
                        "\(member.name.excerpt) must be a string, not \(member.value.typeName)",
                        at: JSONPointer(member: member.name).under(member: "query"))
                }
                pairs.append((member.name, value))
            }
            return pairs
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stage = try call.scope.madeStage(named: params.session)
        var rule = params.rule
        for (index, reply) in params.replies.enumerated() {
            let pointer = params.isList ? "/responses/\(index)" : "/response"
            rule.replies.append(try await reply.made(call.scope.quota, pointer: pointer))
            guard rule.bytes <= StubTable.mostBytes else {
                throw RPCError(
                    .tooMany, "the stubs of a session may hold \(StubTable.mostBytes >> 20) MiB",
                    data: ["what": .string("stub bytes"), "limit": .integer(Int64(StubTable.mostBytes))])
            }
        }
        let charge = try call.kept(rule.bytes)
        let (after, unmatched) = (rule.after, params.unmatched)
        let finished = rule
        let name = try stage.withStubs { stubs throws(RPCError) -> String? in
            if let after, !stubs.contains(after) {
                throw RPCError(
                    .unknownHandle, "there is no stub \(after.excerpt) in this session: add it first",
                    data: ["pointer": .string("/after")])
            }
            if let unmatched { stubs.unmatched = unmatched }
            let name = stubs.add(finished)
            // before another call can remove the stub
            if let name { stage.count(charge, for: name, in: call.scope.quota) }
            return name
        }
        if let name { return ReplyMembers { $0.member("stub", name) } }
        throw RPCError(
            .tooMany, "a session may have \(StubTable.most) stubs: remove some",
            data: ["what": .string("stubs"), "limit": .integer(Int64(StubTable.most))])
    }
}
