// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sets the credentials with which a request responds to a challenge.
struct RequestAuthenticate: Method {
    static let name = "request.authenticate"

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        var credential: UserCredential
        var persistence: Persistence
        var source: ChallengeSource

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            let credential = try fields.credential()
            persistence = try fields.persistence() ?? .forSession
            source = try fields.optional("proxy") == true ? .proxy : .origin
            try fields.finish()
            self.request = try JSONFields.need("request", request)
            self.credential = try JSONFields.need("username", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.request, "request")
        let isKept = params.persistence == .forSession && record.session != nil
        if params.source == .proxy, !record.exchange.usesProxies {
            throw RPCError(
                .invalidParams, "the request goes through no proxy: leave out proxy, or say which one it goes through",
                data: ["pointer": .string("/proxy")])
        }
        guard record.exchange.authenticate(params.credential, isKept: isKept, for: params.source) else {
            throw RPCError(
                .wrongState, "the request has ended and sends no more credentials",
                data: ["pointer": .string("/request"), "state": .string("ended")])
        }
        let persistence: Persistence = isKept ? .forSession : .none
        return ReplyMembers { $0.member("persistence", persistence.rawValue) }
    }
}
