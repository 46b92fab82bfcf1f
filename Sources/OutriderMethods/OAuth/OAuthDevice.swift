// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Begins to log in on another device.
struct OAuthDevice: Method {
    static let name = "oauth.device"

    struct Params: JSONDecodable {
        var credential: CredentialName
        var scope: [String]?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            scope = try fields.optional("scope", as: ScopeParameter.self)?.words
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            let authorization = try await call.scope.service.logins.device(
                credential, scope: params.scope, recorder: call.scope.tokenRecorder)
            return ReplyMembers { writer in
                writer.member("userCode", authorization.userCode)
                writer.member("verificationUri", authorization.verification)
                writer.member("verificationUriComplete", authorization.completeVerification)
                writer.member("expiresIn", authorization.lifetime)
                writer.member("interval", authorization.interval)
            }
        } catch {
            throw RPCError(error)
        }
    }
}
