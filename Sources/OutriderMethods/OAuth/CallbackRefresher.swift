// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Has the code of a client get the tokens of a credential: `callback.refresh`.
struct CallbackRefresher: TokenRefresher {
    private let callback: CallbackSpec
    private let runner: CallbackRunner

    init(_ callback: CallbackSpec, _ runner: CallbackRunner) {
        self.callback = callback
        self.runner = runner
    }

    var client: ObjectIdentifier { ObjectIdentifier(runner.peer) }
    var isGone: Bool { runner.isGone }

    func refresh(
        _ credential: CredentialSnapshot, _ reason: RefreshReason
    ) async throws(OAuthFailure) -> AccessToken {
        let names = CallbackSubject(callback: callback.name, request: nil, attempt: 0)
        let reply: RefreshDecision
        do throws(RPCError) {
            reply = try await runner.run(
                .refresh, callback, names, .refresh(credential, reason), events: InboxOutlet())
        } catch {
            if error.code == RPCError.Code.clientGone.rawValue { throw .clientGone }
            throw OAuthFailure(.temporary, "callback_failed", "the client gave no token: \(error.message)")
        }
        switch reply.token {
        case .success(let token): return token
        case .failure(let failure): throw failure
        }
    }
}

/// What is about no request waits with the connection.
struct InboxOutlet: DecisionOutlet {
    func decision(
        _ shape: DecisionShape, isOpen: @escaping @Sendable () -> Bool, unreadable: @escaping @Sendable () -> Void,
        also inbox: EventQueue
    ) async {
        inbox.push(
            Event("event.decision", OwnDecisionShape(shape: shape)), mayBeLost: false, claim: isOpen,
            isStale: { !isOpen() }, unreadable: unreadable)
    }

    private struct OwnDecisionShape: ObjectShape {
        var shape: DecisionShape

        func encodeMembers(to writer: inout JSONWriter) { shape.encodeMembers(to: &writer) }
    }
}

/// `callback.refresh`: a token, or why there is none.
struct RefreshDecision: JSONDecodable {
    var token: Swift.Result<AccessToken, OAuthFailure>

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let given: TokenParameter? = try fields.optional("token")
        let error: String? = try fields.optional("error", check: CallbackReplyLimits.fault(inReason:))
        let isFinal: Bool = try fields.optional("final") ?? false
        try fields.finish()
        switch (given, error) {
        case (let given?, nil):
            if given.refresh != nil {
                let pointer = JSONPointer(member: "refreshToken").under(member: "token")
                throw JSONComplaint("refreshToken stays with the client's code", at: pointer)
            }
            guard let access = given.access else {
                let pointer = JSONPointer(member: "accessToken").under(member: "token")
                throw JSONComplaint("accessToken is required", at: pointer)
            }
            token = .success(access)
        case (nil, let error?): token = .failure(OAuthFailure(isFinal ? .needsLogin : .temporary, "callback", error))
        default: throw JSONComplaint("must have exactly one of token and error")
        }
    }
}
