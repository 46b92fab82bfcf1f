// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Refreshes the token of a credential, whatever the one that is there is worth.
struct OAuthRefresh: Method {
    static let name = "oauth.refresh"

    static func call(_ params: WaitingParams, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        let credential = try await params.credential.resolved(call)
        do throws(HTTPFailure) {
            _ = try await credential.refresh(within: params.timeout, recorder: call.scope.tokenRecorder)
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
