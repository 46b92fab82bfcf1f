// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Changes settings or tokens of a credential.
struct OAuthSet: Method {
    static let name = "oauth.set"

    struct Params: JSONDecodable {
        var credential: CredentialName
        var settings: CredentialSettings
        var token: TokenParameter?
        var clears: Bool
        var hasEvents: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            settings = try CredentialSettings(&fields)
            token = try fields.optional("token")
            clears = try fields.optional("clear") ?? false
            hasEvents = try fields.optional("events") ?? false
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        let credential = try await params.credential.resolved(call)
        var spec = credential.snapshot.spec
        do throws(JSONComplaint) {
            try params.settings.apply(to: &spec)
        } catch {
            throw RPCError(.invalidParams, error.message, data: ["pointer": .string(error.pointer.description)])
        }
        if params.token?.refresh != nil, spec.grant == .callback {
            throw RPCError(
                .invalidParams, "refreshToken stays with the client's code",
                data: ["pointer": .string("/token/refreshToken")])
        }
        if params.hasEvents { call.scope.service.credentials.watch(credential.name, call.peer, call.scope.owner) }
        let secrets = CredentialSecrets(refreshToken: params.token?.refresh)
        let changed = spec
        try await mappingFailures { () async throws(OAuthFailure) in
            try await call.scope.credentials(of: credential).change(
                credential, params.settings.given, of: changed, secrets, access: params.token?.access,
                clearing: params.clears)
        }
        return CredentialInfoShape(credential)
    }
}
