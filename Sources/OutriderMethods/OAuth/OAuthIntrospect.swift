// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Asks the server what the access token of a credential is worth.
struct OAuthIntrospect: Method {
    static let name = "oauth.introspect"

    static func call(_ params: CredentialParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            let response = try await call.scope.service.logins.introspect(
                credential, recorder: call.scope.tokenRecorder)
            return ReplyMembers { writer in
                writer.member("active", response.isActive)
                writer.member("answer", JSONValue.object(response.document))
            }
        } catch {
            throw RPCError(error)
        }
    }
}
