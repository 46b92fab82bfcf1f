// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Logs out: revokes the tokens of a credential where the server can, and forgets them in any case.
struct OAuthRevoke: Method {
    static let name = "oauth.revoke"

    static func call(_ params: CredentialParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            let failure: OAuthFailure? = try await call.scope.service.logins.logout(
                credential, recorder: call.scope.tokenRecorder)
            return ReplyMembers { writer in
                writer.member("revoked", failure == nil)
                writer.member("error", failure.map(OAuthFailureShape.init))
            }
        } catch {
            throw RPCError(error)
        }
    }
}
