// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

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
        let handles = call.scope.handles
        try await mappingFailures { () async throws(OAuthFailure) in
            try await call.scope.service.logins.delete(
                credential, of: call.scope.credentials(of: credential), revoking: params.revokes,
                recorder: call.scope.tokenRecorder
            ) {
                _ = handles.remove(Handle<OwnCredential>(named: credential.name))
            }
        }
        return JSONNothing()
    }
}
