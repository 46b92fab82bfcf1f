// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tells how a credential stands.
struct OAuthGet: Method {
    static let name = "oauth.get"

    static func call(_ params: CredentialParams, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        CredentialInfoShape(try await params.credential.resolved(call))
    }
}

/// Lists the credentials of this service and of the user's store.
struct OAuthList: Method {
    static let name = "oauth.list"

    struct Result: JSONEncodable {
        var credentials: [CredentialInfoShape]
        /// Why those of the store are missing.
        var failure: OAuthFailure?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("credentials", credentials)
                writer.member("error", failure.map(OAuthFailureShape.init))
            }
        }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let broker = call.scope.service.engine.credentials
        let (all, failure) = await broker.list()
        // nothing is known, and nothing can be said
        if all.isEmpty, let failure { throw RPCError(failure) }
        return Result(credentials: all.map { CredentialInfoShape($0) }, failure: failure)
    }
}

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
        try await asked { () async throws(OAuthFailure) in
            try await call.scope.service.engine.credentials.change(
                credential, params.settings.given, of: changed, secrets, access: params.token?.access,
                clearing: params.clears)
        }
        return CredentialInfoShape(credential)
    }
}

/// Forgets a credential.
struct OAuthDelete: Method {
    static let name = "oauth.delete"

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Whether the server is told that its tokens are good no longer.
        var revokes: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            revokes = try fields.optional("revoke") ?? false
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let credential = try await params.credential.resolved(call)
        call.scope.handles.remove(Handle<OwnCredential>(named: credential.name))
        try await asked { () async throws(OAuthFailure) in
            try await call.scope.service.logins.delete(credential, revoking: params.revokes)
        }
        return JSONNothing()
    }
}

/// Refreshes the token of a credential, whatever the one that is there is worth.
struct OAuthRefresh: Method {
    static let name = "oauth.refresh"

    static func call(_ params: WaitingParams, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        let credential = try await params.credential.resolved(call)
        do throws(HTTPFailure) {
            _ = try await credential.refresh(within: params.timeout)
        } catch {
            throw RPCError(noToken: error)
        }
        return CredentialInfoShape(credential)
    }

    struct WaitingParams: JSONDecodable {
        var credential: CredentialName
        /// Seconds.
        var timeout: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            timeout = try fields.number("timeout", in: OAuthToken.timeouts) ?? OAuthToken.timeout
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }
}

/// Gives a program that sends its own requests an access token.
struct OAuthToken: Method {
    static let name = "oauth.token"

    /// Seconds.
    static let timeouts = 0.1...600.0
    static let timeout = 60.0

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Seconds that it shall last.
        var minValidity: Double
        /// The token that a server has refused.
        var refused: Secret?
        var timeout: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            minValidity = try fields.number("minValidity", in: 0...86400) ?? 60
            refused = try fields.optional("refused")
            timeout = try fields.number("timeout", in: OAuthToken.timeouts) ?? OAuthToken.timeout
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    struct Result: JSONEncodable {
        var token: AccessToken
        var generation: UInt64

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("accessToken", token.token.exposed)
                writer.member("tokenType", token.type)
                writer.member("expiresAt", token.expires.map { TimeShape($0.wallTime) })
                writer.member("scope", token.scope)
                writer.member("missingScope", token.listedMissingScope)
                writer.member("generation", Int(clamping: generation))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let credential = try await params.credential.resolved(call)
        do throws(HTTPFailure) {
            if let refused = params.refused {
                let used = AccessToken(refused, obtained: Clocks.now)
                let verdict = try await credential.retry(used: used, isRefused: true, within: params.timeout)
                if case .fail(let failure) = verdict { throw failure }
            }
            let (token, generation) = try await credential.token(
                for: .broker(minValidity: params.minValidity), within: params.timeout)
            return Result(token: token, generation: generation)
        } catch {
            throw RPCError(noToken: error)
        }
    }
}
